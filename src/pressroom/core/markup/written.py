"""The text that a parser has written so far. Positions count its characters."""


class Written:
    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._whole = ""
        self._last_sign_of_a_host = -1

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)

    def whole(self) -> str:
        if self._pieces:
            self._whole = "".join((self._whole, *self._pieces))
            self._pieces.clear()
            self._last_sign_of_a_host = max(self._whole.rfind("."), self._whole.rfind("["))
        return self._whole

    def link_from(self, start: int) -> str:
        """The text from here on, empty where it cannot be a link: a link has a dot, a bracket or its own scheme.

        Asking costs no time then, however many links are nested in each other.
        """
        whole = self.whole()
        if self._last_sign_of_a_host < start:
            beginning = whole[start : start + len("tonsite:")].lower()
            if not beginning.startswith(("tg:", "ton:", "tonsite:")):
                return ""
        return whole[start:]
