// `npm run bench` lists the benches, `npm run bench -- <name> [options]` runs one, with --help it says what the bench does
// and takes. Exit code 1 when a target is missed, 2 when the name or an option is wrong.
import { messageOf } from '../platform/errors.ts';
import { benches } from './catalogue.ts';
import { optionsOf, wordsOf } from './harness/options.ts';
import { report } from './harness/report.ts';
import { helpOf } from './harness/usage.ts';

async function main(args: readonly string[]): Promise<number> {
  const { names, given } = wordsOf(args);
  const [name, ...more] = names;
  if (name === undefined) return list(given['help'] === true ? 0 : 2);
  const load = Object.hasOwn(benches, name) ? benches[name] : undefined;
  if (load === undefined) return refuse(`there is no bench ${name}; there are ${Object.keys(benches).join(', ')}`);
  const { bench } = await load();
  if (given['help'] === true) {
    process.stdout.write(helpOf(name, bench));
    return 0;
  }
  const options = optionsOf(name, bench, given);
  if ('wrong' in options) return refuse(options.wrong);
  if (more.length > 0) return refuse(`one bench at a time: ${more.join(' ')} is too much`);
  const result = await bench.run(options);
  return report({ bench: name, options, targets: bench.targets(options) }, result, given['json'] === true) ? 0 : 1;
}

function refuse(why: string): number {
  process.stderr.write(`${why}\n`);
  return 2;
}

async function list(exitCode: number): Promise<number> {
  const rows = Object.entries(benches).map(
    async ([name, load]) => `  ${name.padEnd(16)} ${(await load()).bench.about}`,
  );
  const head = ['usage: npm run bench -- <name> [options]; <name> --help says what it does, takes and must reach', ''];
  process.stderr.write([...head, ...(await Promise.all(rows)), ''].join('\n'));
  return exitCode;
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
