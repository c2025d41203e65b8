// Runs an example of docs/examples against a running server: every command that its README shows must print what it shows.
// Usage: clients.mjs go|typescript|python|shell. Environment: SKILLGRAPH_URL, SKILLGRAPH_KEY, of a server with nothing but the demo data.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { SKILLGRAPH_URL: base, SKILLGRAPH_KEY: key } = process.env;
const client = process.argv[2];
const folder = new URL('../../docs/examples/', import.meta.url).pathname;
const read = (path) => readFileSync(join(folder, path), 'utf8');

/** What the demo data make of a day is not what they make of another: states, shares and dates differ, and with them the width of a column. */
const varying = (text) =>
  text
    .replace(/\b(HEALTHY|WARNING|CRITICAL|UNKNOWN)\b/g, 'STATUS')
    .replace(/(\d+%|(?<=\s)-(?=\s|$))/g, 'SHARE')
    .replace(/\d{4}-\d\d-\d\d/g, 'DATE')
    .replace(/repohost\.[0-9a-f]{7}/g, 'COMMIT')
    .replace(/ +/g, ' ');
const exact = (text) => text;

/** How the output of a client is compared, and what else must hold of it. */
const clients = {
  go: { compare: varying, further: rightSkills },
  typescript: { compare: exact, before: shareModules },
  python: { compare: varying, further: rightReport },
  shell: { compare: exact },
};

const { compare, before, further } = clients[client];
for (const name of readdirSync(join(folder, client))) {
  if (!/\.(go|graphql|mjs|py|sh|ts)$/.test(name) || /^generated\.go$|\.gen\.ts$/.test(name)) continue;
  assert.ok(read(`${client}/${name}`).split('\n').length <= 80, `${name} has 80 lines or more`);
}
before?.();
const commands = shown();
assert.ok(commands.length > 0, 'the README shows no command');
for (const { command, output } of commands) {
  console.log(`$ ${command}`);
  const ran = await run(command);
  assert.equal(ran.code, 0, ran.stderr + ran.stdout);
  assert.equal(compare(ran.stdout), compare(output), 'the README shows something else');
  await further?.(ran.stdout);
}

/** The commands of the client's section in the README, each with the output that is shown after it. */
function shown() {
  const section = read('README.md').split(/^## /m).find((text) => text.toLowerCase().startsWith(client));
  const blocks = [...section.matchAll(/^```console\n(.*?)^```$/gms)].map((match) => match[1]);
  return blocks.flatMap((block) =>
    block.split(/^\$ /m).slice(1).map((text) => {
      const end = text.indexOf('\n');
      return { command: text.slice(0, end), output: text.slice(end + 1) };
    }),
  );
}

/** Runs a command in the folder of the examples. */
function run(command, env = {}) {
  return new Promise((resolve) => {
    const child = spawn('bash', ['-c', command], { cwd: folder, env: { ...process.env, ...env } });
    const ran = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) child[stream].setEncoding('utf8').on('data', (text) => (ran[stream] += text));
    child.on('close', (code) => resolve({ ...ran, code }));
  });
}

/** The example has what the web pages have, so that nothing is installed twice. */
function shareModules() {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const own = JSON.parse(read('typescript/package.json'));
  for (const [name, version] of Object.entries({ ...own.dependencies, ...own.devDependencies })) {
    assert.equal(version, { ...dependencies, ...devDependencies }[name], `${name} is of another version than in web/package.json`);
  }
  const modules = join(folder, 'typescript/node_modules');
  if (!existsSync(modules)) symlinkSync('../../../web/node_modules', modules);
}

/** What the REST interface tells of a skill. */
async function told(name) {
  const answer = await fetch(`${base}/v1/skills/${name}`, { headers: { authorization: `Bearer ${key}` } });
  return answer.json();
}

/** A share as it is printed, against what it should be. */
function isShare(text, share, what) {
  if (share === null) assert.equal(text, '-', what);
  else assert.ok(Math.abs(parseInt(text) - 100 * share) <= 0.5 + 1e-9, `${what}: ${text} of ${share}`);
}

/** The figures are those of the REST interface. */
async function rightSkills(table) {
  for (const line of table.trim().split('\n').slice(1)) {
    const [name, status, passes, fires] = line.split(/ +/);
    const { skill } = await told(name);
    assert.equal(status, skill.status.toUpperCase(), name);
    isShare(passes, skill.pass_rate, `${name} passes`);
    isShare(fires, skill.trigger_rate, `${name} fires`);
  }
}

/** The figures, in the table and in the plot, are the sums of the days; and a run that was interrupted is resumed. */
async function rightReport(table) {
  const svg = read('report.svg');
  const rows = table.trim().split('\n').map((line) => line.split(/ +/));
  const mondays = rows.shift().slice(3);
  const lines = [...svg.matchAll(/<polyline points="(.*?)"/g)].map((match) => new Map(match[1].split(' ').map((point) => point.split(','))));
  assert.equal(lines.length, 2 * rows.length);
  for (const [row, [name, ...cells]] of rows.entries()) {
    const { daily_stats: days } = await told(name);
    for (const [column, monday] of mondays.entries()) {
      const sunday = new Date(Date.parse(monday) + 6 * 86_400_000).toISOString().slice(0, 10);
      const week = days.filter(({ date }) => monday <= date && date <= sunday);
      const sum = (field) => week.reduce((total, day) => total + day[field], 0);
      const shares = [[sum('triggered_sessions'), sum('sessions')], [sum('passed'), sum('graded')]];
      for (const [i, [part, whole]] of shares.entries()) {
        const share = whole ? part / whole : null;
        isShare(cells[2 * column + i], share, `${name} in the week of ${monday}`);
        const y = lines[2 * row + i].get(String(150 + 36 * (8 + column)));
        if (share === null) assert.equal(y, undefined);
        else assert.ok(Math.abs(50 * (row + 1) - 40 * share - y) < 0.06, `${name}: ${y} in the plot`);
      }
    }
  }
  await resumes(table, svg, Math.ceil(rows.length / 5));
}

/** The second request is cut off; the next run asks for that page and those after it, and reports the same. */
async function resumes(table, svg, pages) {
  let asked = 0;
  const proxy = createServer(async (request, response) => {
    if (++asked === 2) return request.socket.destroy();
    const body = Buffer.concat(await request.toArray());
    const { authorization, 'content-type': type } = request.headers;
    const answer = await fetch(base + request.url, { method: request.method, headers: { authorization, 'content-type': type }, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const dir = mkdtempSync(join(tmpdir(), 'clients-'));
  try {
    const report = () => run(`python3 python/report.py ${dir}/report.svg`, { SKILLGRAPH_URL: `http://127.0.0.1:${proxy.address().port}` });
    const first = await report();
    assert.equal(first.code, 1);
    assert.deepEqual([first.stdout, readdirSync(dir)], ['', ['report.state']], 'an interrupted run leaves its state alone');
    const second = await report();
    assert.deepEqual([second.code, second.stdout, readdirSync(dir)], [0, table, ['report.svg']], second.stderr);
    assert.equal(readFileSync(`${dir}/report.svg`, 'utf8'), svg);
    assert.equal(asked, pages + 1, 'no page is asked for again but the one that was cut off');
  } finally {
    proxy.close();
    rmSync(dir, { recursive: true });
  }
}
