import { useState } from 'react';

const slot = 'skillgraph.theme';
const themes = ['auto', 'light', 'dark'];

const stored = () => localStorage.getItem(slot) ?? 'auto';

export function applyTheme() {
  document.documentElement.dataset.theme = stored();
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(stored);
  const choose = (next: string) => {
    localStorage.setItem(slot, next);
    applyTheme();
    setTheme(next);
    dispatchEvent(new Event('theme'));
  };
  return (
    <label className="theme">
      Theme
      <select value={theme} onChange={(event) => choose(event.target.value)}>
        {themes.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
