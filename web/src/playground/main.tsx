import 'graphiql/setup-workers/vite';
import { createRoot } from 'react-dom/client';
import './playground.css';
import { Playground } from './Playground';

createRoot(document.getElementById('root')!).render(<Playground />);
