// The load generator of short links, a process of its own. Every request is another person's: a code, an address and a
// User-Agent at random.
import { type Random, seededRandom } from '../../platform/random.ts';
import { serveTask } from './child.ts';
import { type LaneLoad, offerOnLanes } from './lanes.ts';

export type RedirectTask = LaneLoad & { readonly codes: readonly string[]; readonly seed: number };

const userAgents = [
  'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/129.0.0.0 Mobile Safari/537.36',
];

serveTask((task: RedirectTask) => {
  const random = seededRandom(task.seed);
  return offerOnLanes(task, () => requestFor(task.codes, random));
});

function requestFor(codes: readonly string[], random: Random): string {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
  const address = `10.${Math.floor(random.unit() * 256)}.${Math.floor(random.unit() * 256)}.7`;
  return (
    `GET /r/${one(codes)} HTTP/1.1\r\nHost: go.example\r\nX-Forwarded-For: ${address}\r\n` +
    `User-Agent: ${one(userAgents)}\r\nAccept-Language: bn-BD,en;q=0.8\r\nAccept: text/html\r\n\r\n`
  );
}
