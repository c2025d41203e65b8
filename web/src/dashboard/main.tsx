import { createRoot } from 'react-dom/client';
import './dashboard.css';
import { App } from './App';
import { applyTheme } from './ui/ThemeSwitch';

applyTheme();
createRoot(document.getElementById('root')!).render(<App />);
