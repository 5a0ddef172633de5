// The page /docs/errors: the catalogue of problems for people. Every problem's `type` links to it. docs/errors.md is
// made from the same catalogue by a test.
import { type ProblemActor, type ProblemEntry, problemCatalogue } from '../../problem-catalogue.ts';

const entries = Object.entries<ProblemEntry>(problemCatalogue);

export const actors: Record<ProblemActor, string> = {
  client: 'the calling program',
  owner: "the account's administrator",
  operator: 'the operator of Heliograph',
};

export function errorsPage(): string {
  const rows = entries.map(
    ([code, { status, title, actor, action }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${marked(title)}</td>` +
      `<td>${marked(actors[actor])}</td><td>${marked(action)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heliograph errors</title>
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top }
tr:target { background: #fff3c4 }
</style>
</head>
<body>
<h1>Errors</h1>
<p>Every refusal of the <a href="/docs">API</a> carries one of these codes.</p>
<table>
<thead><tr><th>code</th><th>status</th><th>meaning</th><th>who acts</th><th>how</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

/** Escapes text for HTML; `code` is in backticks as in markdown. */
function marked(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
