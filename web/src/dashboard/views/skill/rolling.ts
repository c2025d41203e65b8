/** A share of a few days, with its Wilson interval at 95 %; null where there is nothing to count. */
export type Point = { value: number; low: number; high: number; count: number } | null;

const z = 1.96;

export function wilson(hits: number, count: number): Point {
  if (count === 0) return null;
  const value = hits / count;
  const middle = (value + (z * z) / (2 * count)) / (1 + (z * z) / count);
  const half = (z / (1 + (z * z) / count)) * Math.sqrt((value * (1 - value)) / count + (z * z) / (4 * count * count));
  return { value, low: Math.max(0, middle - half), high: Math.min(1, middle + half), count };
}

type Day = { date: string };

const ms = 86_400_000;

/** One point for every day of the span, each counted from the days up to and with it: single days are too thin. */
export function rolling<D extends Day>(days: D[], span: number, window: number, hits: (day: D) => number, count: (day: D) => number) {
  const byDate = new Map(days.map((day) => [day.date, day]));
  const today = Math.floor(Date.now() / ms);
  const dayBefore = (n: number) => byDate.get(new Date((today - n) * ms).toISOString().slice(0, 10));
  return Array.from({ length: span }, (_, i) => {
    const back = span - 1 - i;
    let h = 0;
    let c = 0;
    for (let n = back; n < back + window; n++) {
      const day = dayBefore(n);
      if (!day) continue;
      h += hits(day);
      c += count(day);
    }
    return { at: (today - back) * 86_400, point: wilson(h, c) };
  });
}
