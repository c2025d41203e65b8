import { type ComponentType, lazy } from 'react';

export type ViewProps = { id: string };

type Module = { default: ComponentType<ViewProps> };

/** Every view is loaded when it is first opened. The server knows the same paths: web/embed.go. */
export const views: Record<string, ComponentType<ViewProps>> = {
  '': lazy(() => import('./views/overview/Overview') as Promise<Module>),
  skills: lazy(() => import('./views/skills/Skills') as Promise<Module>),
  'skills/:id': lazy(() => import('./views/skill/Skill') as Promise<Module>),
  sources: lazy(() => import('./views/sources/Sources') as Promise<Module>),
  'sources/:id': lazy(() => import('./views/source/Source') as Promise<Module>),
  suites: lazy(() => import('./views/suites/Suites') as Promise<Module>),
  'suites/:id': lazy(() => import('./views/suite/Suite') as Promise<Module>),
  compare: lazy(() => import('./views/compare/Compare') as Promise<Module>),
  registry: lazy(() => import('./views/registry/Registry') as Promise<Module>),
  'registry/:id': lazy(() => import('./views/entry/Entry') as Promise<Module>),
  codehost: lazy(() => import('./views/codehost/CodeHost') as Promise<Module>),
  community: lazy(() => import('./views/community/Community') as Promise<Module>),
  search: lazy(() => import('./views/search/Search') as Promise<Module>),
  settings: lazy(() => import('./views/settings/Settings') as Promise<Module>),
};

export const menu: { path: string; label: string }[] = [
  { path: '', label: 'Overview' },
  { path: 'skills', label: 'Skills' },
  { path: 'sources', label: 'Sources & review' },
  { path: 'suites', label: 'Suites' },
  { path: 'registry', label: 'Registry' },
  { path: 'codehost', label: 'Code host' },
  { path: 'community', label: 'Community & signals' },
  { path: 'settings', label: 'Settings' },
];
