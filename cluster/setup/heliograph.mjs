#!/usr/bin/env node
// The command `heliograph`: sets up what is missing, then runs the command line interface under Node 22.
import { join } from 'node:path';
import { launch } from './launch.mjs';
import { SetupFailed, say } from './say.mjs';
import { root, setUp } from './setup.mjs';

const args = process.argv.slice(2);
const isStart = args[0] === 'start' && !args.includes('--help') && !args.includes('-h');
try {
  const node = await setUp({ natsServer: isStart && !process.env.NATS_URL });
  const env = { HELIOGRAPH_LOG: process.env.HELIOGRAPH_LOG ?? 'warn' };
  process.exitCode = await launch(node, [join(root, 'cli', 'main.ts'), ...args], { env, channel: isStart });
} catch (error) {
  if (!(error instanceof SetupFailed)) throw error;
  say(`✗ ${error.message}`);
  process.exitCode = 1;
}
