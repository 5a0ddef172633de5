// Which request bodies are read: JSON in UTF-8. Shared by the hot routes and the management API.
import { type Problem, problem } from './problem.ts';

const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Null when the body may be read. Both are '' where the header is missing. */
export function refuseMediaType(contentType: string, contentEncoding: string): Problem | null {
  if (!jsonType.test(contentType)) {
    return problem(415, 'unsupported_media_type', 'the body must come as Content-Type: application/json, in UTF-8');
  }
  if (contentEncoding === '' || /^identity$/i.test(contentEncoding)) return null;
  return problem(415, 'unsupported_media_type', 'the body must come as it is: without Content-Encoding');
}
