import { type ReactNode, useEffect, useState } from 'react';
import { useSearch } from '../router';
import { words } from './words';

/** Controls that write into the address; the server filters, sorts and searches. */
export function Filters({ children }: { children: ReactNode }) {
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  );
}

export function SearchBox({ label, name = 'q' }: { label: string; name?: string }) {
  const { get, set } = useSearch();
  const stored = get(name);
  const [text, setText] = useState(stored);
  useEffect(() => setText(stored), [stored]);
  useEffect(() => {
    if (text === stored) return;
    const timer = setTimeout(() => set({ [name]: text, page: null }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      {label}
      <input type="search" value={text} onChange={(event) => setText(event.target.value)} />
    </label>
  );
}

type Option = string | { value: string; label: string };

/** One of several values; the first option is what an address without the name means. */
export function Choice({ label, name, options }: { label: string; name: string; options: Option[] }) {
  const { get, set } = useSearch();
  return (
    <label>
      {label}
      <select value={get(name)} onChange={(event) => set({ [name]: event.target.value, page: null })}>
        {options.map((option) => {
          const { value, label } = typeof option === 'string' ? { value: option, label: words(option) } : option;
          return (
            <option key={value} value={value}>
              {label}
            </option>
          );
        })}
      </select>
    </label>
  );
}

/** The value when it is one of the options, for an address that somebody has typed. */
export const oneOf = <T extends string>(value: string, options: readonly T[]) => options.find((o) => o === value);
