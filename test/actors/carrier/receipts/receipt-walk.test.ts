// The stack of a receipt, from the octets of its socket to the publish of its event: every function on it has a name, and
// its files are those of the walk in docs/architecture.md, in that order.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { until } from '../../../support/until.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

const root = join(import.meta.dirname, '../../../..');

type Frame = { readonly name: string; readonly file: string };

/** Keeps the stack of every publish. */
class StackedPublisher extends Publisher {
  readonly stacks: string[] = [];

  override publish(...given: Parameters<Publisher['publish']>): void {
    this.stacks.push(new Error('a publish').stack ?? '');
    super.publish(...given);
  }
}

const open: CarrierHarness[] = [];
const stackTraceLimit = Error.stackTraceLimit;
afterAll(async () => {
  Error.stackTraceLimit = stackTraceLimit;
  for (const harness of open) await harness.stop();
});

it('every frame from the socket to the event has a name, in the files of the walk and in their order', async () => {
  Error.stackTraceLimit = 100;
  const harness = await openCarrierHarness();
  open.push(harness);
  const publisher = new StackedPublisher(harness.bus, {});
  const { drain } = await harness.actor(carrierWith(harness.simulator), undefined, undefined, undefined, undefined, {
    publisher,
  });
  // The events of an OTP are published at once, on the stack of their cause.
  await harness.settled(await harness.send(1, { category: 'otp' }));
  const isOfReceipt = (stack: string) => stack.includes('Receipts.take');
  await until('the receipt has its event', () => publisher.stacks.some(isOfReceipt));
  await drain();
  publisher.close();

  const frames = framesOf(publisher.stacks.find(isOfReceipt) ?? '').toReversed();
  expect(frames.filter(({ name }) => name === '' || name.includes('anonymous'))).toEqual([]);
  const steps = walkOfReceipt();
  const files = [...new Set(frames.map(({ file }) => file))];
  const passed = steps.filter(({ file }) => files.includes(file));
  expect(files).toEqual(passed.map(({ file }) => file));
  expect(files.length).toBeGreaterThanOrEqual(7);
  for (const { file, functions } of passed) {
    const names = frames.filter((frame) => frame.file === file).map(({ name }) => name.split('.').at(-1));
    expect(names, file).toEqual(expect.arrayContaining([expect.toSatisfy((name) => functions.includes(name))]));
  }
});

/** The lines of its list: 1. `file` `function`, `function`: words (test/walks.test.ts). */
function walkOfReceipt(): readonly { readonly file: string; readonly functions: readonly string[] }[] {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const section = page.split('\n## The walk of a receipt\n')[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\d+\. ([^:;\n]+)/gm)].map(([, line = '']) => {
    const [file = '', ...functions] = [...line.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    return { file, functions };
  });
}

/** The innermost first; of the product only. */
function framesOf(stack: string): Frame[] {
  return [...stack.matchAll(/^\s+at (?:(.*) \()?(?:file:\/\/)?(\/[^):]+):\d+:\d+\)?$/gm)]
    .map(([, name = '', path = '']) => ({ name, file: relative(root, path) }))
    .filter(({ file }) => !/^(?:\.\.|test\/|node_modules\/|\.runtime\/)/.test(file));
}
