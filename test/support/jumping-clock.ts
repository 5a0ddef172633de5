// Loaded with --import before a role of the product: in every thread its monotonic clock is ahead by as many milliseconds
// as the file CLOCK_JUMP_FILE says at the moment. Its timers and its wall clock are not.
import { readFileSync, watchFile } from 'node:fs';

const file = process.env['CLOCK_JUMP_FILE'] ?? '';
const { now } = performance;
let aheadMs = Number(readFileSync(file, 'utf8'));
watchFile(file, { interval: 20, persistent: false }, () => {
  aheadMs = Number(readFileSync(file, 'utf8')) || aheadMs;
});
Object.assign(performance, { now: () => now.call(performance) + aheadMs });
