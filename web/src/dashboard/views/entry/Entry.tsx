import { Link, useSearch } from '../../router';
import type { ViewProps } from '../../routes';
import { useSession } from '../../session';
import { Badge } from '../../ui/Bits';
import { Page } from '../../ui/Page';
import { words } from '../../ui/words';
import { useView } from '../../useView';
import { EntryDocument } from './entry.gen';
import { Installs } from './Installs';
import { Releases } from './Releases';
import { Version } from './Version';
import { Versions } from './Versions';

export default function Entry({ id }: ViewProps) {
  const { get, page } = useSearch();
  const { has, can } = useSession();
  const view = useView(
    EntryDocument,
    {
      id,
      page,
      version: get('version'),
      picked: Boolean(get('version')),
      from: get('from') || undefined,
      path: get('file'),
      withFile: Boolean(get('file')),
      installs: has('TEAM'),
      repo: has('PRO') && can('REGISTRY_PUSH'),
    },
    ['entry.', 'version.', 'connection.'],
  );
  return (
    <Page view={view} find={(data) => data.entry} title={(entry) => entry.name} up={{ to: 'registry', label: 'Registry' }}>
      {(entry) => {
        const shown = entry.version ?? (entry.currentVersion && 'files' in entry.currentVersion ? entry.currentVersion : null);
        return (
          <>
            <p className="lead">
              {entry.description} <Badge value={entry.visibility} /> <span className="small">{words(entry.entryType)} of {entry.organizationName}</span>
              {entry.skill && (
                <>
                  {' '}· <Link to={`skills/${entry.skill.id}`}>How the skill does</Link>
                </>
              )}
              {entry.repoLink && (
                <>
                  {' '}· published from <Link to="codehost">{entry.repoLink.repoFullName}</Link>
                </>
              )}
            </p>
            <Installs entry={entry} />
            <Versions entry={entry} />
            {shown && <Version entry={entry} version={shown} />}
            <Releases entry={entry} />
          </>
        );
      }}
    </Page>
  );
}
