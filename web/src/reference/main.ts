import { type Document, type Operation, type Parameter, resolve, type Schema, shape, typeName } from './openapi';

type Child = Node | string | undefined | false;

function el(tag: string, attributes: Record<string, string>, ...children: Child[]): HTMLElement {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child): child is Node | string => Boolean(child)));
  return node;
}

/** Text in which `code` stands between backquotes, in paragraphs. */
function prose(text: string): Node {
  const out = document.createDocumentFragment();
  for (const paragraph of text.split('\n\n')) {
    const p = el('p', {});
    paragraph.split('`').forEach((part, i) => p.append(i % 2 ? el('code', {}, part) : part));
    out.append(p);
  }
  return out;
}

/** The properties of a schema, each with what is inside it; `above` are the names that are open already. */
function properties(api: Document, schema: Schema, above: string[] = []): HTMLElement | undefined {
  const whole = shape(api, schema);
  if (!whole) return undefined;
  if (whole.enum) return el('p', { class: 'values' }, whole.enum.map((value) => `"${value}"`).join(', '));
  const list = el('dl', {});
  for (const [name, property] of Object.entries(whole.properties ?? {})) {
    const type = typeName(property);
    const inside = !above.includes(type) && properties(api, property, [...above, type]);
    list.append(
      el('dt', {}, el('code', {}, name), ' ', el('span', { class: 'type' }, type), whole.required?.includes(name) ? '' : el('em', {}, ' optional')),
      el('dd', {}, property.description && prose(property.description), inside && el('details', {}, el('summary', {}, 'Inside'), inside)),
    );
  }
  return list;
}

function parameters(list: Parameter[]): HTMLElement {
  const out = el('dl', {});
  for (const p of list) {
    const fallback = p.schema.default === undefined ? '' : `, ${JSON.stringify(p.schema.default)} unless given`;
    out.append(
      el('dt', {}, el('code', {}, p.name), ' ', el('span', { class: 'type' }, `${typeName(p.schema)} in the ${p.in}${fallback}`), p.required ? '' : el('em', {}, ' optional')),
      el('dd', {}, p.description && prose(p.description)),
    );
  }
  return out;
}

function content(api: Document, of: Record<string, { schema: Schema }> | undefined): Child[] {
  return Object.entries(of ?? {}).map(([type, { schema }]) =>
    el('div', { class: 'content' }, el('p', { class: 'type' }, `${type}: ${typeName(schema)}`), properties(api, schema)),
  );
}

/** The command that a person would try. */
function curl(method: string, path: string, op: Operation): string {
  const lines = [`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$SKILLGRAPH_URL${path}"`];
  if (op.security?.length !== 0) lines.push('-H "Authorization: Bearer $SKILLGRAPH_KEY"');
  const types = Object.keys(op.requestBody?.content ?? {});
  if (types[0] === 'application/json') lines.push("-H 'Content-Type: application/json' -d '{…}'");
  else if (types[0] === 'multipart/form-data') lines.push("-F 'metadata={…}' -F archive=@skill.tar.gz");
  return lines.join(' \\\n  ');
}

function operation(api: Document, method: string, path: string, op: Operation): HTMLElement {
  const answers = Object.entries(op.responses).map(([status, given]) => {
    const answer = resolve(api, given);
    return el('details', { class: 'answer' }, el('summary', {}, el('b', {}, status), ` ${answer.description ?? ''}`), ...content(api, answer.content));
  });
  return el(
    'details',
    { class: 'operation', id: op.operationId },
    el('summary', {}, el('span', { class: `method ${method}` }, method.toUpperCase()), el('code', {}, path), el('span', { class: 'summary' }, op.summary ?? '')),
    op.description && prose(op.description),
    el('pre', {}, curl(method, path, op)),
    op.parameters && el('h3', {}, 'Parameters'),
    op.parameters && parameters(op.parameters),
    op.requestBody && el('h3', {}, 'Body'),
    ...content(api, op.requestBody?.content),
    el('h3', {}, 'Answers'),
    ...answers,
  );
}

function show(api: Document, at: HTMLElement): void {
  const sections = new Map<string, HTMLElement>();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, op] of Object.entries(item)) {
      const tag = op.tags[0];
      if (!sections.has(tag)) sections.set(tag, el('section', { id: `tag-${tag}` }, el('h2', {}, tag)));
      sections.get(tag)?.append(operation(api, method, path, op));
    }
  }
  at.replaceChildren(...[...sections.entries()].sort(([a], [b]) => a.localeCompare(b)).map(([, section]) => section));
}

function filter(at: HTMLElement, words: string): number {
  let shown = 0;
  for (const section of at.querySelectorAll('section')) {
    let any = false;
    for (const op of section.querySelectorAll<HTMLElement>('.operation')) {
      const text = op.querySelector('summary')?.textContent?.toLowerCase() ?? '';
      op.hidden = !words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
      any ||= !op.hidden;
      shown += op.hidden ? 0 : 1;
    }
    section.hidden = !any;
  }
  return shown;
}

async function start(): Promise<void> {
  const status = document.getElementById('status') as HTMLElement;
  const at = document.getElementById('operations') as HTMLElement;
  const input = document.getElementById('filter') as HTMLInputElement;
  const answer = await fetch('openapi.json').catch(() => undefined);
  if (!answer?.ok) {
    status.textContent = 'The server did not answer. Reload the page to try again.';
    return;
  }
  show(await answer.json(), at);
  const refresh = () => {
    const shown = filter(at, input.value);
    status.textContent = shown === 0 ? 'No operation is like that.' : `${shown} operations`;
  };
  input.addEventListener('input', refresh);
  refresh();
  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

void start();
