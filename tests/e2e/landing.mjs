// Steps for browser.mjs: the landing page in headless Chromium. landing.sh starts the exporters that they need.
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { faultsOfLook, run } from './browser.mjs';

const rows = page => page.evaluate(() => [...document.querySelectorAll('#busiest tbody tr')].map(row => [...row.children].map(cell => cell.textContent)));
const hasRows = page => page.until(() => document.querySelectorAll('#busiest tbody tr').length > 0);
const hasLine = page => page.until(() => document.querySelector('#busiest .chart path')?.getAttribute('d').includes('L'));
const status = page => page.evaluate(() => document.querySelector('#busiest [role=status]').textContent);
const says = (page, part) => page.until(text => document.querySelector('#busiest [role=status]').textContent.includes(text), part);

await run({
	// A replay as recorded: the chart moves, in both themes, on a phone.
	async live(browser, url, ...paths) {
		const page = await browser.show(url);

		await hasRows(page);
		await hasLine(page);
		const before = await page.evaluate(() => document.querySelector('#busiest .chart path').getAttribute('d'));
		await page.until(old => document.querySelector('#busiest .chart path').getAttribute('d') !== old, before);
		assert.match((await rows(page))[0].join('|'), /^[^|]+\|[\d.]+ k?M?B\/s\|[\d.]+ [kMG]?B\|[\d.]+ [kMG]?B$/);
		assert.match(await page.evaluate(() => document.querySelector('.chart').getAttribute('aria-label')), /^Chart of Bytes written to files by process in the last five minutes\. Now: \w+ [\d.]+ [kMG]?B\/s/);
		// State, losses and uptime are read again.
		const uptime = await page.evaluate(() => document.getElementById('uptime').textContent);
		await page.until(old => document.getElementById('uptime').textContent !== old, uptime);
		await page.until(() => document.querySelector('#busiest .chart path').getAttribute('d').split('L').length > 3);
		for (const scheme of ['light', 'dark']) {
			for (const width of [1000, 360, 320]) {
				await page.looks({ width, scheme });
				await page.until(w => Math.abs(document.querySelector('.chart').viewBox.baseVal.width - document.querySelector('.chart').clientWidth) < 2 && innerWidth === w, width);
				assert.deepEqual(await faultsOfLook(page), [], `${scheme}, ${width} px`);
				await page.shoot(`landing-${scheme}-${width}`);
			}
		}
		assert.deepEqual(page.faults, []);
		assert.deepEqual(page.requests.filter(address => !address.startsWith(`${new URL(url).origin}/`)), []);
		assert.deepEqual([...new Set(page.requests.map(address => new URL(address).pathname))].sort(), paths.sort());
	},

	// What a screen reader and a keyboard meet.
	async access(browser, url) {
		const page = await browser.show(url);

		await hasRows(page);
		await page.call('Accessibility.enable');
		const { nodes } = await page.call('Accessibility.getFullAXTree');
		const named = role => nodes.filter(node => !node.ignored && node.role?.value === role).map(node => node.name?.value ?? '');
		for (const role of ['banner', 'main', 'contentinfo']) assert.equal(named(role).length, 1, role);
		assert.deepEqual(named('navigation'), ['Pages']);
		assert.deepEqual(named('heading').sort(), ['Busiest processes', 'Collectors', 'Losses', 'Recordings', 'etw_exporter 0.2.0']);
		assert.equal(named('table').length, 3);
		for (const name of [...named('table'), ...named('region')]) assert.notEqual(name, '');
		assert.match(named('image').find(name => name.startsWith('Chart')) ?? '', /Bytes written to files by process/);
		assert.equal(named('status').length, 1);
		assert.equal(await page.evaluate(() => document.querySelectorAll('table:not(:has(caption)), th:not([scope])').length), 0);

		const visited = [];
		for (let i = 0; i < 8; i++) {
			await page.press('Tab');
			visited.push(await page.evaluate(() => {
				const style = getComputedStyle(document.activeElement);
				return `${document.activeElement.textContent.trim().slice(0, 11)}, ${style.outlineStyle} ${parseFloat(style.outlineWidth) >= 2}`;
			}));
		}
		assert.deepEqual(visited.slice(0, 5), ['Skip to the, solid true', '/metrics, solid true', '/-/healthy, solid true', '/-/ready, solid true', '/version, solid true']);
		for (const at of visited) assert.match(at, /, solid true$/);
		assert.deepEqual(page.faults, []);
	},

	// Names of processes that are markup, quotes, and letters that turn the direction of writing.
	async hostile(browser, url) {
		const page = await browser.show(url);

		await hasLine(page);
		// Each when it has begun to write.
		for (const name of ['<script>"\'\\x', 'abcd\ufffdgpj']) {
			await page.until(text => [...document.querySelectorAll('#busiest tbody th')].some(cell => cell.textContent === text), name);
		}
		assert.equal(await page.evaluate(() => document.querySelectorAll('script').length), 1);
		assert.equal(await page.evaluate(() => document.querySelectorAll('#busiest tbody th:not(:has(> bdi))').length), 0);
		assert.equal(await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.outerHTML)), false);
		assert.match(await page.evaluate(() => document.querySelector('.chart').getAttribute('aria-label')), /<script>"'\\x \d/);
		assert.deepEqual(page.faults, []);
		await page.shoot('landing-hostile');
	},

	// A known history: units, a gap, a name that is no text, and the measures that can be chosen.
	async numbers(browser, url) {
		const process = (name, total, window, ...rates) => ({ name, total, window, rates });
		const history = { ages_ms: [240000, 120000, 5000, 0], measures: [
			{ id: 'written', title: 'Bytes written', note: 'Of files.', unit: 'bytes', decimals: 0, processes: [] },
			{ id: 'network', title: 'Network', note: 'Sent.', unit: 'bytes', decimals: 0, processes: [
				process('a', 9000000, 4500, null, 0, 900, 1500), process('"x\\y\nz', 50, 25, null, 0, 0, 25)] },
			{ id: 'cpu', title: 'CPU time', note: 'Threads.', unit: 'seconds', decimals: 9, processes: [process('b', 7.25e9, 2.5e9, 0, 5e8, null, 25e7)] },
		] };
		const page = await browser.open();

		await page.call('Page.addScriptToEvaluateOnNewDocument', { source: `{
			const real = fetch;
			window.fetch = (address, options) => address.endsWith('history.json') ? Promise.resolve(new Response(${JSON.stringify(JSON.stringify(history))})) : real(address, options);
		}` });
		await page.looks({});
		await page.go(url);
		// The first measure that has something.
		await page.until(() => document.querySelectorAll('#busiest tbody tr').length === 2);
		assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('#busiest thead th')].map(cell => cell.textContent)),
			['Process', 'Now', 'Last five minutes', 'Since the start']);
		assert.deepEqual(await rows(page), [['a', '1.5 kB/s', '4.5 kB', '9.0 MB'], ['"x\\y\ufffdz', '25 B/s', '25 B', '50 B']]);
		assert.equal(await status(page), 'Network: a is first in the last five minutes.');
		// The chart spans five minutes, and each line begins where it was counted.
		assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.chart path')].map(path => path.getAttribute('d').replace(/[^ML]/g, ''))), ['MLL', 'MLL']);
		assert.ok(await page.evaluate(() => document.querySelector('.chart').textContent.includes('−5 min')));
		assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('#measure option')].map(option => option.textContent)), ['Bytes written', 'Network', 'CPU time']);

		const choose = id => page.evaluate(value => {
			document.getElementById('measure').value = value;
			document.getElementById('measure').dispatchEvent(new Event('change'));
		}, id);
		await choose('cpu');
		assert.deepEqual(await rows(page), [['b', '0.25 cores', '2.50 s', '7.25 s']]);
		assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.chart path')].map(path => path.getAttribute('d').replace(/[^ML]/g, ''))), ['MLM']);
		await choose('written');
		assert.deepEqual(await rows(page), []);
		assert.equal(await status(page), 'Bytes written: nothing was counted in the last five minutes.');
		// What was chosen is in the address, which opens the page with it.
		await choose('cpu');
		assert.equal(await page.evaluate(() => location.hash), '#cpu');
		await page.go('about:blank');
		await page.go(`${url}#cpu`);
		await page.until(() => document.getElementById('measure')?.value === 'cpu');
		assert.deepEqual(page.faults, []);
	},

	// A page that is opened late has what was before.
	async full(browser, url, steps) {
		const points = async () => (await (await fetch(`${url}history.json`)).json()).measures[0].processes[0]?.rates.filter(rate => rate !== null).length ?? 0;
		while (await points() < Number(steps)) await new Promise(resolve => setTimeout(resolve, 50));
		const page = await browser.open();

		// What it draws first, because a busy machine may look later.
		await page.call('Page.addScriptToEvaluateOnNewDocument', { source: `new MutationObserver(() => {
			window.firstLine ??= document.querySelector('#busiest .chart path')?.getAttribute('d');
		}).observe(document, { childList: true, subtree: true })` });
		await page.looks({});
		await page.go(url);
		const line = await page.until(() => window.firstLine);
		assert.ok(line.match(/[ML]/g).length >= Number(steps), line);
		// The names of collectors have one line each where there is room.
		await page.evaluate(() => { document.querySelector('details').open = true; });
		assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('.collectors tbody th')].filter(cell => {
			const range = document.createRange();

			range.selectNodeContents(cell);
			return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom))).size > 1;
		}).map(cell => cell.textContent)), []);
		assert.deepEqual(page.faults, []);
		await page.shoot('landing-full');
	},

	// The part that is there without JavaScript.
	async static(browser, url) {
		const page = await browser.open();

		await page.call('Emulation.setScriptExecutionDisabled', { value: true });
		await page.looks({});
		await page.go(url);
		const { root: { nodeId } } = await page.call('DOM.getDocument');
		const { nodeId: body } = await page.call('DOM.querySelector', { nodeId, selector: 'body' });
		const { outerHTML } = await page.call('DOM.getOuterHTML', { nodeId: body });
		for (const part of ['No event was lost', 'The chart needs JavaScript', 'sample.etl', 'Collectors', 'collect%5B%5D=file']) assert.ok(outerHTML.includes(part), part);
		assert.deepEqual(page.faults, []);
		await page.shoot('landing-without-javascript');
	},

	// Behind a reverse proxy that takes its prefix off, and is known to the exporter as its external URL.
	async proxy(browser, url) {
		const target = new URL(url);
		const proxy = createServer((incoming, outgoing) => {
			if (!incoming.url.startsWith('/behind/')) {
				outgoing.writeHead(404).end();
				return;
			}
			incoming.pipe(request({ host: target.hostname, port: target.port, path: incoming.url.slice('/behind'.length), method: incoming.method, headers: incoming.headers }, answer => {
				outgoing.writeHead(answer.statusCode, answer.headers);
				answer.pipe(outgoing);
			}));
		});

		await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
		const page = await browser.show(`http://127.0.0.1:${proxy.address().port}/behind/`);
		await hasLine(page);
		assert.deepEqual(page.faults, []);
		// A page of plain text has no icon: the browser may look for one where the proxy has none, which is no fault of ours.
		await page.evaluate(() => document.querySelector('.collectors a').click());
		await page.until(() => location.search === '?collect%5B%5D=disk' && document.body?.innerText.includes('# TYPE etw_disk_'));
		proxy.close();
		proxy.closeAllConnections();
	},

	// A hidden page asks for nothing; one whose exporter does not answer asks less and less often, and goes on by itself.
	async pauses(browser, url) {
		const page = await browser.show(url);
		const scrapes = () => page.times('/history.json').length;
		const hide = hidden => page.evaluate(value => {
			Object.defineProperty(document, 'hidden', { value, configurable: true });
			document.dispatchEvent(new Event('visibilitychange'));
		}, hidden);

		await hasLine(page);
		await hide(true);
		await new Promise(resolve => setTimeout(resolve, 1000)); // for a scrape that was under way
		const before = scrapes();
		await new Promise(resolve => setTimeout(resolve, 11000)); // more than two intervals
		assert.equal(scrapes(), before);
		await hide(false);
		await page.until(count => performance.getEntriesByType('resource').filter(entry => entry.name.includes('/history.json')).length > count, before);

		assert.deepEqual(page.faults, []);
		await page.call('Network.emulateNetworkConditions', { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
		await says(page, 'does not answer');
		const from = scrapes();
		while (scrapes() === from) await new Promise(resolve => setTimeout(resolve, 50));
		const [failed, next] = page.times('/history.json').slice(from - 1);
		assert.ok(next - failed >= 9, `another attempt after ${next - failed} s`);
		await page.shoot('landing-no-answer');
		await page.call('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
		await says(page, 'is first in the last five minutes');
	},

	// Nothing to draw: what the page says about it, and the name of its picture.
	async empty(browser, url, text, picture) {
		const page = await browser.show(url);

		await says(page, text);
		assert.deepEqual(await faultsOfLook(page), []);
		await page.shoot(`landing-${picture}`);
	},

	// Only a part of the text of a section, and a picture.
	async section(browser, url, part, picture) {
		const page = await browser.show(url);

		await page.until(text => document.body.innerText.includes(text), part);
		assert.deepEqual(await faultsOfLook(page), []);
		await page.shoot(`landing-${picture}`);
	},
});
