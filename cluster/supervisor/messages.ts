// The messages between supervisor and child over the IPC channel. Types only. New messages are added here first;
// neither side may use one that the other does not know.

import type { Configuration } from '../../config/configuration.ts';
import type { FromLinked, ToLinked } from '../../platform/message-link.ts';
import type { MetricObject } from '../../platform/metric-registry.ts';

export type { MetricObject };

export type Health = {
  ok: boolean;
  /** For people: what is up or missing. */
  detail: string;
};

export type ToChild =
  /** The first message: the role's settings and secrets by name, heliograph.yaml included. */
  | { type: 'settings'; env: Readonly<Record<string, string>> }
  | ToLinked
  /** heliograph.yaml has changed, and this child needs no restart for it. */
  | { type: 'configure'; configuration: Configuration };

export type FromChild =
  | { type: 'ready'; ready: Record<string, unknown> }
  /** `fix`: a person must change something first, so a retry is useless. */
  | { type: 'failed'; why: string; fix: boolean; badConfiguration?: boolean }
  | FromLinked<MetricObject[][]>
  /** Once a second: also the sign that the child's event loop turns. */
  | ({ type: 'health' } & Health);
