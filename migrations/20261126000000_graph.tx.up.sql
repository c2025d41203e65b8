SET LOCAL statement_timeout = 0;

-- What members made.
CREATE INDEX alerts_by_author ON alerts (org_id, created_by, id);
CREATE INDEX api_keys_by_user ON api_keys (org_id, user_id, id);
CREATE INDEX cloud_sources_by_author ON cloud_sources (org_id, created_by, id);
CREATE INDEX eval_runs_by_author ON eval_runs (org_id, created_by, id);
CREATE INDEX eval_suites_by_author ON eval_suites (org_id, created_by, id);
CREATE INDEX events_by_actor ON events (org_id, actor_id, seq);
CREATE INDEX proposals_by_decider ON proposals (org_id, decided_by, created_at, id) WHERE decided_by IS NOT NULL;
CREATE INDEX registry_entries_by_author ON registry_entries (org_id, created_by, id);
CREATE INDEX registry_versions_by_author ON registry_versions (org_id, pushed_by, id);
CREATE INDEX repo_links_by_author ON repo_links (org_id, created_by, id);
CREATE INDEX suggestion_reviews_by_author ON suggestion_reviews (org_id, reviewed_by, id);

-- What hangs on versions and revisions.
CREATE INDEX eval_runs_by_revision ON eval_runs (org_id, suite_id, revision, id);
CREATE INDEX eval_runs_by_version ON eval_runs (org_id, version_id, id) WHERE version_id IS NOT NULL;
CREATE INDEX proposals_by_version ON proposals (org_id, version_id, created_at, id) WHERE version_id IS NOT NULL;
CREATE INDEX publish_attempts_by_version ON publish_attempts (org_id, version_id) WHERE version_id IS NOT NULL;

-- Search. See docs/adr/0012.

-- search_words cuts a text into words, without accents and upper-case letters, 32 at most. These functions are in PL/pgSQL, which plans once: they run for every
-- row that changes.
CREATE FUNCTION search_words(source text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN (array_remove(regexp_split_to_array(
    lower(regexp_replace(normalize(left(source, 1000), NFKD), '[\u0300-\u036f]', '', 'g')), '[\u0001-\u002f:-@[-`{-\u00bf\u2000-\u206f\u3000-\u303f]+'
  ), ''))[1:32];
END $$;

-- search_slips are the beginning of a word with up to so many letters left out, as long as three remain: words that are so many mistakes apart share one.
CREATE FUNCTION search_slips(word text, most integer) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  w text := left(word, 8);
  n integer := char_length(w);
  k integer := least(most, n - 3);
  part text;
  slips text[] := ARRAY[w];
BEGIN
  IF k >= 1 THEN
    FOR i IN 1..n LOOP
      part := left(w, i - 1) || substr(w, i + 1);
      slips := slips || part;
      IF k >= 2 THEN
        FOR j IN i..n - 1 LOOP
          slips := slips || (left(part, j - 1) || substr(part, j + 1));
        END LOOP;
      END IF;
    END LOOP;
  END IF;
  RETURN slips;
END $$;

-- search_keys are what a text can be found by: its words, after a ^, and their slips.
CREATE FUNCTION search_keys(words text[], most integer) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  w text;
  keys text[] := '{}';
BEGIN
  IF cardinality(words) BETWEEN 2 AND 8 THEN -- as one word, too, for who leaves out the hyphen
    words := words || array_to_string(words, '');
  END IF;
  FOREACH w IN ARRAY words LOOP
    keys := keys || ('^' || left(w, 100)) || search_slips(w, most);
  END LOOP;
  RETURN array_to_tsvector(keys);
END $$;

-- search_beginnings asks for texts that have words which begin so, search_nearly for those that have words which are nearly so.
CREATE FUNCTION search_beginnings(words text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT string_agg('''^' || left(w, 100) || ''':*', '&')::tsquery FROM unnest(words) AS w
$$;
CREATE FUNCTION search_nearly(words text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT string_agg('(''' || array_to_string(search_slips(w, 2), '''|''') || ''')', '&')::tsquery FROM unnest(words) AS w
$$;

-- What can be found, and by which texts. A name forgives two mistakes, prose one: it has many words, and nobody searches for it as carefully.
CREATE VIEW search_objects AS
  SELECT org_id, id AS object_id, 'SKILL' AS type, 'name' AS field, name AS text, 2 AS slips FROM skills
  UNION ALL SELECT org_id, id, 'SOURCE', 'label', label, 2 FROM cloud_sources
  UNION ALL SELECT org_id, id, 'SOURCE', 'repository', repo_full_name, 2 FROM cloud_sources WHERE repo_full_name <> ''
  UNION ALL SELECT org_id, id, 'SUITE', 'name', name, 2 FROM eval_suites WHERE archived_at IS NULL
  UNION ALL SELECT org_id, id, 'ENTRY', 'name', name, 2 FROM registry_entries
  UNION ALL SELECT org_id, id, 'ENTRY', 'description', left(description, 300), 1 FROM registry_entries WHERE description <> ''
  UNION ALL SELECT org_id, id, 'CONNECTION', 'repository', repo_full_name, 2 FROM repo_links
  UNION ALL SELECT org_id, id, 'SUGGESTION', 'query', left(query, 300), 1 FROM eval_suggestions WHERE query <> ''
  UNION ALL SELECT a.org_id, a.id, 'ALERT', 'title', lower(replace(a.type, '_', ' ')) || coalesce(' ' || s.name, ''), 2
    FROM alerts a LEFT JOIN skills s ON s.org_id = a.org_id AND s.id = a.skill_id
  UNION ALL SELECT org_id, id, 'PROPOSAL', 'title', skill_name || ' ' || lower(replace(proposal_type, '_', ' ')), 2 FROM proposals
  UNION ALL SELECT m.org_id, m.user_id, 'MEMBER', 'email', u.email, 2 FROM members m JOIN users u ON u.id = m.user_id WHERE m.removed_at IS NULL;

-- The same, with what an index needs.
CREATE TABLE search_texts (
  org_id    uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  object_id uuid NOT NULL,
  type      text NOT NULL,
  field     text NOT NULL,
  text      text NOT NULL,
  folded    text COLLATE "C" NOT NULL, -- its words without anything between them
  keys      tsvector NOT NULL,
  PRIMARY KEY (org_id, object_id, field)
);
CREATE INDEX search_texts_by_prefix ON search_texts (org_id, left(folded, 200));
CREATE INDEX search_texts_by_key ON search_texts USING gin (keys) WITH (fastupdate = off); -- who reads waits for nobody who tidies up

CREATE FUNCTION search_refresh(org uuid, object uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM search_texts t WHERE t.org_id = org AND t.object_id = object;
  INSERT INTO search_texts SELECT o.org_id, o.object_id, o.type, o.field, o.text, array_to_string(w.words, ''), search_keys(w.words, o.slips)
    FROM search_objects o CROSS JOIN LATERAL (SELECT search_words(o.text) AS words OFFSET 0) w WHERE o.org_id = org AND o.object_id = object AND w.words <> '{}';
END $$;

CREATE FUNCTION search_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record := coalesce(NEW, OLD);
BEGIN
  IF TG_TABLE_NAME = 'members' THEN
    PERFORM search_refresh(changed.org_id, changed.user_id);
  ELSE
    PERFORM search_refresh(changed.org_id, changed.id);
  END IF;
  RETURN NULL;
END $$;

INSERT INTO search_texts SELECT o.org_id, o.object_id, o.type, o.field, o.text, array_to_string(w.words, ''), search_keys(w.words, o.slips)
  FROM search_objects o CROSS JOIN LATERAL (SELECT search_words(o.text) AS words OFFSET 0) w WHERE w.words <> '{}';

DO $$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM (VALUES
    ('skills', '{name}'::text[]), ('cloud_sources', '{label,repo_full_name}'), ('eval_suites', '{name,archived_at}'), ('registry_entries', '{name,description}'),
    ('repo_links', '{repo_full_name}'), ('eval_suggestions', '{query}'), ('alerts', '{type,skill_id}'), ('proposals', '{skill_name,proposal_type}'), ('members', '{removed_at}')
  ) AS v(name, columns) LOOP
    EXECUTE format('CREATE TRIGGER %I_search AFTER INSERT OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION search_follow()', t.name, t.name);
    EXECUTE format('CREATE TRIGGER %I_search_again AFTER UPDATE ON %I FOR EACH ROW WHEN ((%s) IS DISTINCT FROM (%s)) EXECUTE FUNCTION search_follow()', t.name, t.name,
      (SELECT string_agg('OLD.' || c, ', ') FROM unnest(t.columns) AS c), (SELECT string_agg('NEW.' || c, ', ') FROM unnest(t.columns) AS c));
  END LOOP;
END $$;
