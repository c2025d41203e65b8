import { useEffect, useRef, useState } from 'react';

const slot = 'skillgraph.shortcuts';

/** Single keys that do something, except while somebody types. They can be switched off. */
export function useShortcuts(keys: Record<string, () => void>) {
  const [on, setOn] = useState(() => localStorage.getItem(slot) !== 'off');
  const latest = useRef(keys);
  latest.current = keys;

  useEffect(() => {
    if (!on) return;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if ((event.target as HTMLElement).closest('input:not([type=checkbox]), select, textarea, dialog')) return;
      const act = latest.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [on]);

  const set = (next: boolean) => {
    localStorage.setItem(slot, next ? 'on' : 'off');
    setOn(next);
  };
  return [on, set] as const;
}
