type Fields = Record<string, unknown>;
type Revision = { name: string; verifierKind: string; supportsNoSkill: boolean; resourceLimitsJson?: unknown; casesJson: unknown };

export type Change = { title: string; diff: string };

/** What differs between two revisions: the suite's own fields, then case by case, as lines of a diff. */
export function changes(from: Revision, to: Revision): Change[] {
  const out: Change[] = [];
  const own = ({ name, verifierKind, supportsNoSkill, resourceLimitsJson }: Revision) => ({ name, verifierKind, supportsNoSkill, resourceLimitsJson });
  const fields = lines(own(from), own(to));
  if (fields) out.push({ title: 'The suite', diff: fields });

  const before = byId(from.casesJson);
  const after = byId(to.casesJson);
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const diff = lines(before.get(id) ?? {}, after.get(id) ?? {});
    if (!diff) continue;
    const what = !before.has(id) ? 'Added' : after.has(id) ? 'Changed' : 'Removed';
    out.push({ title: `${what}: case ${id}`, diff });
  }
  return out;
}

/** A case without an id goes by its place. */
function byId(cases: unknown) {
  const list = Array.isArray(cases) ? (cases as Fields[]) : [];
  return new Map(list.map((c, i) => [String(c.id ?? `number ${i + 1}`), c]));
}

function lines(from: Fields, to: Fields) {
  const out: string[] = [];
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [old, now] = [JSON.stringify(from[key]), JSON.stringify(to[key])];
    if (old === now) continue;
    if (old !== undefined) out.push(`- ${key}: ${old}`);
    if (now !== undefined) out.push(`+ ${key}: ${now}`);
  }
  return out.join('\n');
}
