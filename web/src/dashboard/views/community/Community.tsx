import { useSearch } from '../../router';
import type { ProposalStatus } from '../../schema.gen';
import { oneOf } from '../../ui/Filters';
import { Page } from '../../ui/Page';
import { useView } from '../../useView';
import { Bundles } from './Bundles';
import { CommunityDocument } from './community.gen';
import { Proposals } from './Proposals';
import { Signals } from './Signals';

export const statuses: ProposalStatus[] = ['PENDING', 'APPROVED', 'REJECTED', 'APPLIED'];

export default function Community() {
  const { get, page } = useSearch();
  const view = useView(CommunityDocument, { page, filter: { status: oneOf(get('status'), statuses) } }, ['proposal.', 'community.', 'signal']);
  return (
    <Page
      view={view}
      find={(data) => data}
      title="Community and signals"
      lead="What contributors sent you, what opted-in people’s sessions tell, and what follows from it."
    >
      {(data) => (
        <>
          <Proposals proposals={data.proposals} />
          <Signals overview={data.signalOverview} />
          <Bundles overview={data.communityOverview} />
        </>
      )}
    </Page>
  );
}
