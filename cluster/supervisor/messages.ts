// What supervisor and child say to each other over the IPC channel. Types only. A new message is added here
// first; neither side may understand a message the other does not know.

import type { Configuration } from '../../config/configuration.ts';
import type { FromLinked, ToLinked } from '../../platform/message-link.ts';
import type { MetricObject } from '../../platform/telemetry.ts';

export type { MetricObject };

export type Health = {
  ok: boolean;
  /** For a person: what is up or what is missing. */
  detail: string;
};

export type ToChild =
  /** The first one: the role's settings and secrets by their names, heliograph.yaml among them. */
  | { type: 'settings'; env: Readonly<Record<string, string>> }
  | ToLinked
  /** heliograph.yaml has changed, and nothing in it needs a restart of this child. */
  | { type: 'configure'; configuration: Configuration };

export type FromChild =
  | { type: 'ready'; ready: Record<string, unknown> }
  /** `fix`: a person must change something first, so trying again is of no use. */
  | { type: 'failed'; why: string; fix: boolean; badConfiguration?: boolean }
  | FromLinked<MetricObject[][]>
  | ({ type: 'health' } & Health);
