// What every script here begins with: the one argument, a line to the test, a line from it.
import { createInterface } from 'node:readline';

export const given = JSON.parse(process.argv[2]);

export const say = (said, more = {}) => process.stdout.write(JSON.stringify({ said, ...more }) + '\n');

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export const until_told = () => lines.next();

export async function refused(kind, call) {
  try {
    await call;
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  throw new Error(`nothing was refused, where ${kind.name} was expected`);
}

export async function run(flows) {
  await flows[given.flow]();
  process.stdin.destroy();
}
