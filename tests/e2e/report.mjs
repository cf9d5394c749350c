// Steps for browser.mjs: the page of etwtool report in headless Chromium. report_page.sh makes the pages that they need.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { faultsOfLook, run } from './browser.mjs';

// All sections are open, and their charts drawn.
const drawn = async page => {
	await page.until(() => document.querySelector('.graph path, .graph .heat rect') !== null);
	await page.evaluate(() => { for (const fold of document.querySelectorAll('details')) fold.open = true; });
	await page.until(() => [...document.querySelectorAll('.graph svg')].every(svg => svg.childElementCount > 0));
};
// The first chart: who wrote what.
const shape = page => page.evaluate(() => document.querySelector('.graph path').getAttribute('d'));
const shownTimes = page => page.evaluate(() => document.querySelector('.zoomed').hidden ? '' : document.querySelector('.zoomed span:nth-child(2)').textContent);
const tip = page => page.evaluate(() => {
	const element = document.querySelector('.graph .tip');
	return element.hidden ? null : element.innerText.replace(/\s+/g, ' ').trim();
});
// Moves, presses or releases the mouse over the first chart, at a part of the width of what is drawn.
const mouse = async (page, type, part, more = {}) => {
	const { x, y } = await page.evaluate(at => {
		const box = document.querySelector('.graph svg').getBoundingClientRect(), line = document.querySelector('.graph line.grid');
		const left = line.x1.baseVal.value, right = line.x2.baseVal.value;
		return { x: box.x + left + (right - left) * at, y: box.y + box.height / 2 };
	}, part);

	await page.call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1, ...more });
};
const press = async (page, key) => {
	const codes = { ArrowRight: 39, ArrowLeft: 37, Home: 36, End: 35, Escape: 27, '+': 187 };
	for (const type of ['keyDown', 'keyUp']) {
		await page.call('Input.dispatchKeyEvent', { type, key, windowsVirtualKeyCode: codes[key], ...(key === '+' && type === 'keyDown' ? { text: '+' } : {}) });
	}
};

await run({
	// Three widths, both themes. The page asks for nothing but itself.
	async look(browser, url) {
		const page = await browser.show(url);

		await drawn(page);
		for (const scheme of ['light', 'dark']) {
			for (const width of [1000, 900, 360]) {
				await page.looks({ width, scheme });
				await page.until(w => Math.abs(innerWidth - w) < 200 && Math.abs(document.querySelector('.chart').viewBox.baseVal.width - document.querySelector('.chart').clientWidth) < 2, width);
				assert.equal(await page.evaluate(() => innerWidth), width, 'something makes the page wider');
				assert.deepEqual(await faultsOfLook(page), [], `${scheme}, ${width} px`);
				await page.evaluate(() => scrollTo(0, 0));
				await page.shootPart(`report-${scheme}-${width}.png`, { width, height: 2400 });
			}
		}
		// What the eye meets first: who wrote most, in the colour of the chart.
		assert.match(await page.evaluate(() => document.querySelector('#glance tbody tr').innerText.replace(/\s+/g, ' ')), /^Written to files sqlservr 111 MB 54 % [\d.]+ MB\/s 07:00:\d\d\.\d+ 1\.8 MB\/s$/);
		assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('#glance tbody rect')).fill === getComputedStyle(document.querySelector('.graph path')).fill), true);
		assert.ok(await page.evaluate(() => document.querySelectorAll('.plot[data-chart]').length === document.querySelectorAll('.graph').length));
		assert.ok(await page.evaluate(() => document.querySelectorAll('.heat rect:not(.ground, .mark)').length) > 100);
		assert.deepEqual(page.requests, [url]);
		assert.deepEqual(page.faults, []);
	},

	// Only the first chart's section is open. A link opens its section, and a button opens or closes all.
	async folds(browser, url) {
		const page = await browser.show(url), open = () => page.evaluate(() => [...document.querySelectorAll('details[open]')].map(fold => fold.closest('section').id).join());
		const press = () => page.evaluate(() => document.querySelector('.contents button').click());

		await page.until(() => document.querySelector('.graph path') !== null);
		assert.equal(await open(), 'writes');
		await page.evaluate(() => [...document.querySelectorAll('#glance a')].at(-1).click());
		await page.until(() => document.querySelectorAll('details[open]').length === 2);
		await page.until(() => document.querySelector(location.hash).closest('.plot').querySelector('path, rect') !== null);
		await press();
		assert.equal(await page.evaluate(() => document.querySelectorAll('details:not([open])').length), 0);
		await press();
		assert.equal(await open(), '');
		assert.deepEqual(page.faults, []);
	},

	// Hover, zoom by dragging, back by a double click; a name that stands out.
	async pointer(browser, url) {
		const page = await browser.show(url);

		await drawn(page);
		const before = await shape(page);
		await page.evaluate(() => document.querySelector('.graph').scrollIntoView({ block: 'center' }));
		await mouse(page, 'mouseMoved', 0.8, { buttons: 0, button: 'none' });
		assert.match(await tip(page), /^07:00:4\d\.\d+ sqlservr [\d.]+ [kM]B\/s .*All: [\d.]+ [kM]B\/s$/);
		await page.shoot('hover');
		await mouse(page, 'mousePressed', 0.4);
		await mouse(page, 'mouseMoved', 0.5);
		await mouse(page, 'mouseReleased', 0.6);
		assert.match(await shownTimes(page), /^2024-05-14 07:00:2\d\.\d+ to 07:00:3\d\.\d+ UTC$/);
		assert.notEqual(await shape(page), before);
		// All charts show the same time.
		assert.ok(await page.evaluate(() => [...document.querySelectorAll('.graph')].every(graph => [...graph.querySelectorAll('text')].every(text => !['07:00:00', '07:00:50'].includes(text.textContent)))));
		assert.deepEqual(await faultsOfLook(page), []);
		await page.shoot('zoomed');
		await mouse(page, 'mousePressed', 0.5);
		await mouse(page, 'mouseReleased', 0.5);
		await mouse(page, 'mousePressed', 0.5, { clickCount: 2 });
		await mouse(page, 'mouseReleased', 0.5, { clickCount: 2 });
		assert.equal(await shownTimes(page), '');
		assert.equal(await shape(page), before);
		await page.evaluate(() => [...document.querySelectorAll('button.pick')].find(button => button.textContent === 'Robocopy').click());
		assert.equal(await page.evaluate(() => document.querySelectorAll('.graph path.dim').length > 10 && document.querySelectorAll('button.pick[aria-pressed="true"]').length > 1), true);
		await page.evaluate(() => [...document.querySelectorAll('button.pick')].find(button => button.textContent === 'Robocopy').click());
		assert.equal(await page.evaluate(() => document.querySelectorAll('.graph path.dim').length), 0);
		assert.deepEqual(page.faults, []);
	},

	// The same with keys; what is said of a step is what the pointer shows.
	async keys(browser, url) {
		const page = await browser.show(url), value = () => page.evaluate(() => document.activeElement.getAttribute('aria-valuetext'));

		await drawn(page);
		const before = await shape(page);
		await page.evaluate(() => document.querySelector('.graph').focus());
		assert.match(await value(), /^highest at 07:00:2\d\.\d+: [\d.]+ MB\/s$/);
		await press(page, 'ArrowRight');
		assert.match(await value(), /^07:00:00\.000: \w+ [\d.]+ k?B\/s/);
		await press(page, 'End');
		await press(page, 'ArrowLeft');
		assert.match(await value(), /^07:00:59\.\d+: /);
		assert.ok((await tip(page)).startsWith('07:00:59.'));
		await press(page, 'Home');
		await press(page, '+');
		assert.match(await shownTimes(page), /07:00:00\.000 to 07:00:[123]/);
		await press(page, 'Escape');
		assert.equal(await shownTimes(page), '');
		assert.equal(await shape(page), before);
		assert.equal(await page.evaluate(() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2; }), true);
		assert.deepEqual(page.faults, []);
	},

	// What a screen reader meets.
	async access(browser, url) {
		const page = await browser.show(url);

		await drawn(page);
		await page.call('Accessibility.enable');
		const { nodes } = await page.call('Accessibility.getFullAXTree');
		const named = role => nodes.filter(node => !node.ignored && node.role?.value === role).map(node => node.name?.value ?? '');
		for (const role of ['banner', 'main', 'contentinfo']) assert.equal(named(role).length, 1, role);
		assert.deepEqual(named('navigation'), ['Contents']);
		for (const heading of ['sample.etl', 'Losses and doubts', 'At a glance', 'Who wrote what, and when', 'Disks', 'Processes']) assert.ok(named('heading').includes(heading), heading);
		for (const name of [...named('table'), ...named('region'), ...named('slider'), ...named('button')]) assert.notEqual(name, '');
		assert.equal(named('slider').length, await page.evaluate(() => document.querySelectorAll('.plot[data-chart]').length));
		assert.equal(await page.evaluate(() => document.querySelectorAll('table:not(:has(caption)), th:not([scope])').length), 0);
		assert.equal(await page.evaluate(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.length - new Set(ids).size; }), 0);
		assert.deepEqual(page.faults, []);
	},

	// The report in short without JavaScript.
	async static(browser, url) {
		const page = await browser.open();

		await page.call('Emulation.setScriptExecutionDisabled', { value: true });
		await page.looks({ width: 360 });
		await page.go(url);
		const { nodes } = await page.call('Accessibility.getFullAXTree').catch(() => ({ nodes: [] }));
		const text = nodes.filter(node => node.role?.value === 'StaticText').map(node => node.name?.value).join(' ');
		for (const part of ['No event was lost', 'The tables and charts need JavaScript', 'Robocopy', 'D:\\MSSQL\\Data\\Shop.mdf', '83.9 MB', '0xC0000005']) assert.ok(text.includes(part), part);
		await page.shoot('static');
		assert.deepEqual(page.faults, []);
	},

	// On paper: light, all sections, nothing that is only for a screen, not cut off at the right, and few pages.
	async print(browser, url) {
		const page = await browser.show(url, { scheme: 'dark' });

		await drawn(page);
		await page.call('Emulation.setEmulatedMedia', { media: 'print', features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
		await page.looks({ width: 720, scheme: 'dark' });
		await page.call('Emulation.setEmulatedMedia', { media: 'print', features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
		await page.until(() => Math.abs(document.querySelector('.chart').viewBox.baseVal.width - document.querySelector('.chart').clientWidth) < 2);
		assert.deepEqual(await faultsOfLook(page), []);
		assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
		assert.equal(await page.evaluate(() => [...document.querySelectorAll('nav, .hint, .zoomed')].every(e => getComputedStyle(e).display === 'none')), true);
		// The browser keeps what was drawn before it lays the page out for paper.
		const drawnWidth = () => page.evaluate(() => document.querySelector('.chart').viewBox.baseVal.width), width = await drawnWidth();
		const folded = () => page.evaluate(() => document.querySelectorAll('details:not([open])').length);
		await page.evaluate(() => { document.querySelector('#disk-title, #lacks-title').closest('details').open = false; });
		await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
		assert.equal(await drawnWidth(), 448);
		assert.equal(await folded(), 0);
		await page.evaluate(() => dispatchEvent(new Event('afterprint')));
		assert.equal(await drawnWidth(), width);
		assert.equal(await folded(), 1);
		const { data } = await page.call('Page.printToPDF', { paperWidth: 8.27, paperHeight: 11.69 });
		browser.keep('report.pdf', Buffer.from(data, 'base64'));
		assert.ok(Buffer.from(data, 'base64').toString('latin1').match(/\/Type\s*\/Page\b/g).length < 12, 'the sample takes 12 pages or more');
		assert.deepEqual(page.faults, []);
	},

	// What README.md shows: the beginning of the page, up to the first chart (tests/report_pictures.sh).
	async picture(browser, url) {
		const page = await browser.show(url, { width: 900 });

		await drawn(page);
		for (const scheme of ['light', 'dark']) {
			await page.looks({ width: 900, scheme });
			const height = await page.until(() => {
				const chart = document.querySelector('.chart');
				return Math.abs(chart.viewBox.baseVal.width - chart.clientWidth) < 2 && Math.ceil(chart.getBoundingClientRect().bottom + scrollY) + 8;
			});
			await page.shootPart(`report-${scheme}.webp`, { width: 900, height }, { format: 'webp', quality: 60 });
		}
		assert.deepEqual(page.faults, []);
	},

	async hostile(browser, url) {
		const page = await browser.show(url);

		await drawn(page);
		assert.equal(await page.evaluate(() => document.querySelectorAll('b, x, s').length), 0);
		assert.equal(await page.evaluate(() => document.querySelectorAll('script').length), 4);
		assert.equal(await page.evaluate(() => document.querySelector('h1').textContent), '<b>x.etl');
		assert.ok((await page.evaluate(() => [...document.querySelectorAll('#writes button.pick')].map(e => e.textContent))).includes('</script><x>'));
		assert.ok((await page.evaluate(() => [...document.querySelectorAll('.files')].map(e => e.innerText).join())).includes('\\<!--\ufffd<\\report-4.xlsx'));
		assert.equal(await page.evaluate(() => /[\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.innerText + document.querySelector('main').innerHTML)), false);
		await page.evaluate(() => [...document.querySelectorAll('#writes button.pick')].find(e => e.textContent === 'abcd\ufffdgpj').click());
		assert.equal(await page.evaluate(() => document.querySelectorAll('.graph')[0].querySelectorAll('path:not(.dim)').length), 1);
		await page.evaluate(() => document.querySelector('.graph').focus());
		await press(page, 'ArrowRight');
		assert.deepEqual(page.faults, []);
		assert.deepEqual(page.requests, [url]);
	},

	// Names that are markup, end the script or the style, or are very long: the page has only elements of its own.
	async names(browser, url) {
		const own = new Set(['A', 'BDI', 'BODY', 'BUTTON', 'CAPTION', 'CODE', 'DD', 'DETAILS', 'DIV', 'DL', 'DT', 'FOOTER', 'H1', 'H2', 'H3', 'HEAD', 'HEADER', 'HTML', 'LI', 'MAIN', 'META',
			'NAV', 'NOSCRIPT', 'P', 'PRE', 'SCRIPT', 'SECTION', 'SMALL', 'SPAN', 'STRONG', 'STYLE', 'SUMMARY', 'TABLE', 'TBODY', 'TD', 'TH', 'THEAD', 'TITLE', 'TR', 'UL',
			'line', 'path', 'rect', 'svg', 'text']);

		for (const width of [1000, 360]) {
			const page = await browser.show(url, { width });

			await drawn(page);
			const [tags, attributes, count, text] = await page.evaluate(() => [[...document.querySelectorAll('*')].map(e => e.tagName),
				[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(name => name.startsWith('on') || name === 'src' || name === 'style'),
				document.scripts.length, document.querySelector('main').innerText]);
			assert.deepEqual([...new Set(tags)].filter(tag => !own.has(tag)), []);
			assert.deepEqual(attributes.filter(name => name !== 'style'), []);
			assert.equal(count, 4);
			for (const name of ['</script><img src=x onerror=alert(1)>', '<!--<script>', '"><svg onload=alert(1)>\'', ']]></style><b>', '{{data}}', '&lt;i&gt;&amp;amp;', 'abc\ufffdtxt.exe']) assert.ok(text.includes(name), name);
			assert.deepEqual(await faultsOfLook(page), []);
			assert.deepEqual(page.faults, []);
			assert.deepEqual(page.requests, [url]);
			await page.shoot(`names-${width}`);
			await page.close();
		}
	},

	// A lifetime is drawn within the recording, whatever times it claims: from 07:00:00.002 to 07:01:00.000, in thousandths of that.
	async lifetimes(browser, url) {
		const page = await browser.show(url);
		const bar = name => page.evaluate(text => {
			const { x, width } = [...document.querySelectorAll('.processes tbody tr')].find(row => row.querySelector('bdi').textContent === text).querySelector('.life rect');
			return [x.baseVal.value, width.baseVal.value];
		}, name);

		assert.deepEqual(await bar('System'), [0, 1000]);
		assert.deepEqual(await bar('late-70004.exe'), [166, 834]); // from 10 s, and ends after the year 9999
		assert.deepEqual(await bar('late-70008.exe'), [1000, 4]); // begins after it
		assert.deepEqual(await bar('late-70012.exe'), [249, 250]); // from 15 s to 30 s
		assert.deepEqual(page.faults, []);
	},

	// Keeps the page as it is rendered, for report_numbers.py.
	async rendered(browser, url) {
		const page = await browser.show(url);

		await drawn(page);
		browser.keep(`rendered-${basename(url)}`, Buffer.from(await page.evaluate(() => document.documentElement.outerHTML)));
		assert.deepEqual(page.faults, []);
	},

	async small(browser, url) {
		for (const width of [1000, 360]) {
			const page = await browser.show(url, { width });

			await page.until(() => document.readyState === 'complete');
			assert.ok(await page.evaluate(() => document.querySelectorAll('#losses, #glance, #lacks').length === 3));
			assert.deepEqual(await faultsOfLook(page), []);
			assert.deepEqual(page.faults, []);
			if (width === 1000) await page.shoot(`small-${basename(url, '.html')}`);
			await page.close();
		}
	},
});
