import { useSearch } from '../../router';
import { useSession } from '../../session';
import { Page } from '../../ui/Page';
import { useView } from '../../useView';
import { Keys } from './Keys';
import { Members } from './Members';
import { Plan } from './Plan';
import { SettingsDocument } from './settings.gen';
import { WriteBack } from './WriteBack';

export default function Settings() {
  const { page } = useSearch();
  const { can, has } = useSession();
  const view = useView(
    SettingsDocument,
    { page, keys: can('KEYS_MANAGE'), host: has('PRO') && can('REGISTRY_PUSH') },
    ['key.', 'member.', 'organization.'],
  );
  return (
    <Page view={view} find={(data) => data} title="Settings">
      {(data) => (
        <>
          <Plan organization={data.organization} />
          <Keys keys={data.organization.apiKeys} own={data.viewer.apiKey.id} />
          <Members members={data.organization.members} />
          <WriteBack mode={data.repohostSettings?.writeBackMode} />
        </>
      )}
    </Page>
  );
}
