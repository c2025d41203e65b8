import type { ReactNode } from 'react';
import { Link, useSearch } from '../router';
import { Empty } from './State';

export type Column<T> = {
  head: string;
  cell: (row: T) => ReactNode;
  /** Numbers stand at the right. */
  number?: boolean;
  /** Left out on a phone. */
  wide?: boolean;
};

type Props<T> = { label: string; rows: T[]; columns: Column<T>[]; id: (row: T) => string; empty: ReactNode };

export function Table<T>({ label, rows, columns, id, empty }: Props<T>) {
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  const look = (c: Column<T>) => [c.number && 'number', c.wide && 'wide'].filter(Boolean).join(' ') || undefined;
  return (
    // What scrolls must be within reach of the keyboard.
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.head} scope="col" className={look(c)}>
                {c.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((c, i) =>
                i === 0 ? (
                  <th key={c.head} scope="row" className={look(c)}>
                    {c.cell(row)}
                  </th>
                ) : (
                  <td key={c.head} className={look(c)}>
                    {c.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export const perPage = 20;

type PageInfo = { page?: number | null; total: number; perPage: number };

/** Pages by number: the number is in the address. */
export function Pager({ info, name = 'page' }: { info: PageInfo; name?: string }) {
  const { link } = useSearch();
  const page = info.page ?? 1;
  const last = Math.max(1, Math.ceil(info.total / info.perPage));
  if (last === 1) return null;
  const to = (n: number) => link({ [name]: n > 1 ? String(n) : null });
  return (
    <nav className="pager" aria-label="Pages">
      {page > 1 ? <Link to={to(page - 1)}>Previous</Link> : <span>Previous</span>}
      <span>
        Page {page} of {last} · {info.total.toLocaleString('en')} in all
      </span>
      {page < last ? <Link to={to(page + 1)}>Next</Link> : <span>Next</span>}
    </nav>
  );
}
