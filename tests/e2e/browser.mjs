// Headless Chromium over its DevTools protocol, through two pipes: nothing but Node.js is needed, and no port is open.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--no-default-browser-check',
	'--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions', '--hide-scrollbars',
	'--remote-debugging-pipe', 'about:blank'];

export class Browser {
	#process;
	#next = 1;
	#calls = new Map();
	#context; // of the pages that are opened
	#pages = new Map(); // by session
	#pictures;

	// profile: an empty folder that is the caller's to remove. pictures: a folder for what keep() is given.
	static start(profile, pictures) {
		const browser = new Browser();
		const child = spawn(process.env.CHROMIUM ?? 'chromium', [`--user-data-dir=${profile}`, ...flags], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
		let rest = '';

		browser.#process = child;
		browser.#pictures = pictures;
		child.stdio[4].setEncoding('utf8').on('data', text => {
			const messages = (rest + text).split('\0');

			rest = messages.pop();
			for (const message of messages) browser.#take(JSON.parse(message));
		});
		child.on('exit', code => {
			for (const { reject } of browser.#calls.values()) reject(new Error(`Chromium has ended with ${code}`));
		});
		return browser;
	}

	#take({ id, method, params, sessionId, result, error }) {
		if (!id) {
			this.#pages.get(sessionId)?.take(method, params);
			return;
		}
		const { resolve, reject, what } = this.#calls.get(id);
		this.#calls.delete(id);
		if (error) reject(new Error(`${what}: ${error.message}`));
		else resolve(result);
	}

	call(method, params = {}, sessionId = undefined) {
		return new Promise((resolve, reject) => {
			const id = this.#next++;

			this.#calls.set(id, { resolve, reject, what: method });
			this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		});
	}

	// Calls what opens pages. They are closed after it, and nothing that they have stored or set is there for the next one.
	async isolated(what) {
		const { browserContextId } = await this.call('Target.createBrowserContext');

		this.#context = browserContextId;
		await what();
		this.#pages.clear();
		await this.call('Target.disposeBrowserContext', { browserContextId });
	}

	async open() {
		const { targetId } = await this.call('Target.createTarget', { url: 'about:blank', browserContextId: this.#context });
		const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
		const page = new Page(this, targetId, sessionId);

		this.#pages.set(sessionId, page);
		for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.call(`${domain}.enable`);
		return page;
	}

	// Opens a page with an address.
	async show(address, look = {}) {
		const page = await this.open();

		await page.looks(look);
		await page.go(address);
		return page;
	}

	keep(name, data) { writeFileSync(`${this.#pictures}/${name}`, data); }

	async stop() {
		const ended = new Promise(resolve => this.#process.on('exit', resolve));

		await this.call('Browser.close').catch(() => {});
		await ended;
	}
}

export class Page {
	faults = []; // what the console shows as errors, violations of the Content Security Policy included
	requests = []; // addresses
	#times = []; // of the requests, in seconds of Chromium's clock
	#loaded = () => {};

	constructor(browser, target, session) { Object.assign(this, { browser, target, session }); }

	take(method, params) {
		if (method === 'Network.requestWillBeSent') {
			this.requests.push(params.request.url);
			this.#times.push(params.timestamp);
		}
		if (method === 'Runtime.exceptionThrown') this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
		if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) this.faults.push(params.args.map(argument => argument.value).join(' '));
		if (method === 'Log.entryAdded' && params.entry.level !== 'verbose') this.faults.push(`${params.entry.text} ${params.entry.url ?? ''}`);
		if (method === 'Page.loadEventFired') this.#loaded();
	}

	call(method, params) { return this.browser.call(method, params, this.session); }

	// When requests were sent whose address contains this.
	times(part) { return this.#times.filter((_, i) => this.requests[i].includes(part)); }

	// The value of an expression, or of a function that is called in the page with arguments of JSON.
	async evaluate(what, ...values) {
		const expression = typeof what === 'function' ? `(${what})(...${JSON.stringify(values)})` : what;
		const { result, exceptionDetails } = await this.call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });

		if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
		return result.value;
	}

	// Waits until what evaluates to something true, and returns it; ctest ends what hangs.
	async until(what, ...values) {
		for (let i = 0; i < 6000; i++) {
			const value = await this.evaluate(what, ...values);
			if (value) return value;
			await new Promise(resolve => setTimeout(resolve, 50));
		}
		throw new Error(`not in five minutes: ${what}\n${await this.evaluate('document.body.innerText')}`);
	}

	async go(url) {
		const loaded = new Promise(resolve => { this.#loaded = resolve; });
		const { errorText } = await this.call('Page.navigate', { url });

		if (errorText) throw new Error(`${url}: ${errorText}`);
		await loaded;
	}

	async looks({ width = 1000, height = 900, scheme = 'light' }) {
		await this.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
		await this.call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
	}

	// Keeps a picture of a part of the page, which may be outside of the window.
	async shootPart(name, clip, options = {}) {
		const { data } = await this.call('Page.captureScreenshot', { captureBeyondViewport: true, clip: { x: 0, y: 0, scale: 1, ...clip }, ...options });

		this.browser.keep(name, Buffer.from(data, 'base64'));
	}

	// The whole page.
	async shoot(name) {
		const { cssContentSize: { width, height } } = await this.call('Page.getLayoutMetrics');

		await this.shootPart(`${name}.png`, { width, height });
	}

	async press(key, code = key) {
		const keys = { Tab: 9, Enter: 13 };
		for (const type of ['keyDown', 'keyUp']) await this.call('Input.dispatchKeyEvent', { type, key, code, windowsVirtualKeyCode: keys[key] });
	}

	close() { return this.browser.call('Target.closeTarget', { targetId: this.target }); }
}

// Runs the steps that the command line names: node SCRIPT PROFILE PICTURES STEP ADDRESS MORE... [-- STEP ADDRESS MORE...]... They run
// one after another in one Chromium, isolated from each other, up to the first that fails. ADDRESS may be that of a file. steps: by
// name, functions of the browser, the address as URL, and MORE.
export async function run(steps) {
	const [profile, pictures, ...words] = process.argv.slice(2);
	const calls = [[]];
	let at;

	for (const word of words) {
		if (word === '--') calls.push([]);
		else calls.at(-1).push(word);
	}
	const browser = Browser.start(profile, pictures);
	try {
		for (const call of calls) {
			const [step, address, ...more] = call;

			at = call.join(' ');
			await browser.isolated(() => steps[step](browser, URL.canParse(address) ? address : pathToFileURL(address).href, ...more));
			console.log(`ok: ${at}`);
		}
	} catch (error) {
		console.error(`${at}: ${error.stack}`);
		process.exitCode = 1;
	} finally {
		await browser.stop();
		process.exit(); // what a step that failed has left open would keep the program running
	}
}

// Text whose contrast with its background is below that of WCAG 2, level AA, and lines and areas of charts; text that runs out of the
// page, and a page that is wider than the window.
export const faultsOfLook = page => page.evaluate(() => {
	const found = [];
	const numbers = colour => colour.match(/[\d.]+/g).map(Number);
	const light = colour => {
		const [r, g, b] = numbers(colour).map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	// Of each element once: its style takes more time than all else here.
	const backgrounds = new Map();
	const behind = element => {
		if (!element) return 'rgb(255, 255, 255)';
		if (!backgrounds.has(element)) {
			const colour = getComputedStyle(element).backgroundColor;
			backgrounds.set(element, (numbers(colour)[3] ?? 1) === 1 ? colour : behind(element.parentElement));
		}
		return backgrounds.get(element);
	};

	for (const element of document.querySelectorAll('body *')) {
		if (![...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.textContent.trim())) continue;
		const box = element.getBoundingClientRect(), style = getComputedStyle(element);
		if (box.width === 0 || box.bottom <= 0 || style.visibility === 'hidden') continue;
		const pair = [light(element.closest('svg') ? style.fill : style.color), light(behind(element))].sort((a, b) => b - a);
		const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
		if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(1)}: "${element.textContent.slice(0, 40)}"`);
		if (box.right > document.documentElement.clientWidth + 1 && !element.closest('.scroll')) found.push(`out of the page: "${element.textContent.slice(0, 40)}"`);
	}
	for (const line of document.querySelectorAll('.chart path')) {
		const { fill, stroke } = getComputedStyle(line);
		const pair = [light(fill === 'none' ? stroke : fill), light(behind(line.closest('section')))].sort((a, b) => b - a);
		const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
		if (contrast < 3) found.push(`contrast ${contrast.toFixed(1)} of a ${fill === 'none' ? 'line' : 'area'} of a chart, ${line.getAttribute('class')}`);
	}
	// Of a text that is cut off, what is left may read as another number.
	for (const chart of document.querySelectorAll('svg.chart')) {
		const frame = chart.getBoundingClientRect(), texts = [...chart.querySelectorAll('text')].map(text => ({ name: text.textContent, box: text.getBoundingClientRect() }));
		for (const [i, { name, box }] of texts.entries()) {
			if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5) found.push(`cut off at the side of a chart: "${name}"`);
			for (const other of texts.slice(i + 1)) {
				if (box.left < other.box.right && other.box.left < box.right && box.top < other.box.bottom - 3 && other.box.top < box.bottom - 3) found.push(`"${name}" overlaps "${other.name}"`);
			}
		}
	}
	if (document.documentElement.scrollWidth > innerWidth) found.push(`${document.documentElement.scrollWidth} px wide instead of ${innerWidth}`);
	return found;
});
