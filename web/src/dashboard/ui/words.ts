/** `SHOULD_NOT_TRIGGER` → `should not trigger`. */
export const words = (value: string) => value.toLowerCase().replaceAll('_', ' ').replace(/\b(llm|json)\b/g, (name) => name.toUpperCase());

/** `KEYS_MANAGE` → `keys:manage`, as keys and REST spell it. */
export const permission = (value: string) => value.toLowerCase().replace('_', ':');

export const count = (n: number, one: string, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export const percent = (share: number) => `${Math.round(share * 100)} %`;

export function bytes(n: number) {
  if (n < 1024) return `${n} B`;
  return n < 1024 * 1024 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

/** The UTC day so many days ago, as the schema's Date. */
export const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
