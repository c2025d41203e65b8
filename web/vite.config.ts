import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv, type Plugin } from 'vite';

// git keeps the empty folder for go:embed; a build must not make that file disappear.
const gitkeep: Plugin = {
  name: 'gitkeep',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: '.gitkeep', source: '' });
  },
};

// The server that pages in development ask.
const { SKILLGRAPH_URL: target = 'http://127.0.0.1:8080' } = loadEnv('', '.', 'SKILLGRAPH_');

export default defineConfig({
  // Relative addresses, so that a reverse proxy may mount the server below a path.
  base: './',
  plugins: [react(), gitkeep],
  publicDir: false,
  build: {
    rolldownOptions: {
      input: ['index.html', 'playground.html', 'reference.html'],
      // GraphiQL's directives speak to the React compiler, which has already run.
      checks: { moduleLevelDirective: false },
    },
    // One file each: data: addresses need more room in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Monaco is one lazy chunk of 2 MB; there is nothing to split.
    chunkSizeWarningLimit: 4000,
  },
  // In development, Vite must not look into the playground: it cannot prepare Monaco's workers.
  optimizeDeps: { entries: ['index.html'], exclude: ['graphiql/setup-workers/vite'] },
  server: { proxy: { '/graphql': { target, ws: true }, '/schema.graphql': target, '/openapi.json': target } },
});
