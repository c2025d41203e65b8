import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

// git keeps the empty folder for go:embed; a build must not make that file disappear.
const gitkeep: Plugin = {
  name: 'gitkeep',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: '.gitkeep', source: '' });
  },
};

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
  server: { proxy: { '/graphql': 'http://127.0.0.1:8080', '/schema.graphql': 'http://127.0.0.1:8080', '/openapi.json': 'http://127.0.0.1:8080' } },
});
