"""Become another user, then another program: `python launch.py UID GID CAPABILITY PROGRAM ARGUMENT...`

Run by root, as a script and with nothing of ours imported. With a CAPABILITY other than `-` (a number of
linux/capability.h) the program keeps that one as an ambient capability, and no other; with `-` it keeps none.
"""

import ctypes
import os
import sys

PR_SET_KEEPCAPS = 8
PR_SET_SECUREBITS = 28
SECBIT_NO_SETUID_FIXUP = 1 << 2
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAPABILITY_VERSION_3 = 0x20080522


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def become_with(capability: int, uid: int, gid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def must(result: int, what: str) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

    def number(value: int) -> ctypes.c_ulong:
        return ctypes.c_ulong(value)

    must(libc.prctl(PR_SET_KEEPCAPS, number(1), number(0), number(0), number(0)), "keep capabilities")
    # Without this access(2), by which PostgreSQL's programs find each other, does as if the capability were gone.
    secure = libc.prctl(PR_SET_SECUREBITS, number(SECBIT_NO_SETUID_FIXUP), number(0), number(0), number(0))
    must(secure, "set secure bits")
    become(uid, gid)
    only = 1 << capability
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(only, only, only, 0, 0, 0)  # effective, permitted, inheritable; low then high
    must(libc.capset(header, sets), "set capabilities")
    raised = libc.prctl(PR_CAP_AMBIENT, number(PR_CAP_AMBIENT_RAISE), number(capability), number(0), number(0))
    must(raised, "raise the ambient capability")


def main(uid: str, gid: str, capability: str, program: str, *arguments: str) -> None:
    try:
        if capability == "-":
            become(int(uid), int(gid))
        else:
            become_with(int(capability), int(uid), int(gid))
        os.execv(program, [program, *arguments])  # noqa: S606 - that is what this module is for
    except OSError as error:
        sys.exit(f"cannot run {program} as uid {uid}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
