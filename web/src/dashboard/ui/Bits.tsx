import { percent, words } from './words';

/** A word with the colour of how good it is. The word tells the same without the colour. */
export function Badge({ value }: { value: string }) {
  return <span className={`badge ${tone[value] ?? ''}`}>{words(value)}</span>;
}

const tone: Record<string, string> = {
  HEALTHY: 'good', PASSED: 'good', ACCEPTED: 'good', SUCCESS: 'good', PUBLISHED: 'good', UP_TO_DATE: 'good', APPLIED: 'good', CURRENT: 'good', DONE: 'good', ACTIVE: 'good', OK: 'good', ADDED: 'good',
  WARNING: 'warn', OUTDATED: 'warn', BELOW_THRESHOLD: 'warn', ERROR: 'bad', MUTED: 'warn', EXPIRED: 'warn', SUSPENDED: 'warn', CHANGED: 'warn', INVALID: 'warn', ROLLED_BACK: 'warn', ROLLBACK: 'warn',
  CRITICAL: 'bad', FIRING: 'bad', FAILED: 'bad', REJECTED: 'bad', REVOKED: 'bad', REVOCATION: 'bad', REMOVED: 'bad',
};

const units: [Intl.RelativeTimeFormatUnit, number][] = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60]];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' });

/** How long ago, in words; the exact time in the reader's zone on hover. */
export function Time({ at }: { at?: string | null }) {
  if (!at) return <span className="muted">never</span>;
  const seconds = (Date.parse(at) - Date.now()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  const text = unit === 'second' ? 'just now' : relative.format(Math.trunc(seconds / size), unit);
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {text}
    </time>
  );
}

export type RateValue = { value: number; count: number; low: number; high: number };

const enough = 10;

/** A share with its interval. One that was counted from too little says so. */
export function Rate({ rate }: { rate?: RateValue | null }) {
  if (!rate) return <span className="muted">no data</span>;
  const thin = rate.count < enough;
  const title = `${percent(rate.value)}; with 95 % certainty between ${percent(rate.low)} and ${percent(rate.high)}; counted from ${rate.count}`;
  return (
    <span className={thin ? 'rate thin' : 'rate'} title={title}>
      <b>{percent(rate.value)}</b>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect className="track" y="3" width="100" height="4" />
        <rect className="interval" x={rate.low * 100} y="3" width={Math.max(1, (rate.high - rate.low) * 100)} height="4" />
        <rect className="value" x={Math.min(98, rate.value * 100 - 1)} width="2.5" height="10" />
      </svg>
      <small>{thin ? `thin: ${rate.count}` : rate.count.toLocaleString('en')}</small>
      <span className="hidden">, between {percent(rate.low)} and {percent(rate.high)}</span>
    </span>
  );
}

/** A line without axes; the words say where it begins and ends. */
export function Sparkline({ values, label }: { values: (number | null | undefined)[]; label: string }) {
  const points = values.flatMap((v, i) => (v == null ? [] : [[(i / Math.max(1, values.length - 1)) * 100, 24 - v * 22]]));
  if (points.length < 2) return <span className="muted small">too few days</span>;
  const known = values.filter((v) => v != null);
  const text = `${label}: from ${percent(known[0]!)} to ${percent(known[known.length - 1]!)} over ${known.length} days`;
  return (
    <svg className="sparkline" viewBox="0 0 100 26" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <polyline points={points.map((p) => p.map((n) => n.toFixed(1)).join()).join(' ')} />
    </svg>
  );
}
