// Runs other programs for set-up: keeps their output for the error message, sets a deadline, leaves nothing running.
import { execFile, spawn } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>} output: both streams, the last 4,000 characters
 */
export function run(command, args, { cwd, env, timeoutMs = 600_000 } = {}) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    const keep = (chunk) => {
      output = (output + chunk).slice(-4_000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', (error) => resolve({ ok: false, output: error.message }));
    child.once('close', (code, signal) => {
      if (signal !== null) keep(`\nended by ${signal} (limit ${timeoutMs / 1_000} s)`);
      resolve({ ok: code === 0, output: output.trim() });
    });
  });
}

/**
 * The complete output, by stream: for a program that prints a document.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number }} [options]
 * @returns {Promise<{ ok: boolean, stdout: string, stderr: string }>}
 */
export function runWhole(command, args, { cwd, env, timeoutMs = 60_000 } = {}) {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
    execFile(command, args, options, (error, stdout, stderr) => resolve({ ok: error === null, stdout, stderr }));
  });
}

/** @param {string} name @returns {string | null} the program on PATH */
export function which(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && isProgram(path)) return path;
  }
  return null;
}

/** @param {string} path */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'EACCES' || error.code === 'ENOTDIR') return false;
    throw error;
  }
}

/**
 * How to run npm under a given node: npm chooses platform packages by the node it runs on.
 * @param {string} node
 * @returns {{ command: string, args: string[] } | null}
 */
export function npmUnder(node) {
  const own = process.env.npm_execpath;
  if (own?.endsWith('npm-cli.js')) return { command: node, args: [own] };
  const found = which('npm');
  if (found === null) return null;
  const real = realpathSync(found);
  // A version manager's shim is not JavaScript: it is executed directly and finds our node first on PATH.
  return real.endsWith('.js') ? { command: node, args: [real] } : { command: found, args: [] };
}

/** The environment for npm: ours, without the variables of an outer npm. @param {string} binDir */
export function npmEnvironment(binDir) {
  const env = { ...process.env, PATH: `${binDir}${delimiter}${process.env.PATH ?? ''}` };
  for (const name of Object.keys(env)) {
    if (/^npm_(package|lifecycle|config_(local|global)_prefix|config_prefix|config_global$)/.test(name))
      delete env[name];
  }
  delete env.NODE_ENV;
  return { ...env, npm_config_update_notifier: 'false', npm_config_audit: 'false', npm_config_fund: 'false' };
}
