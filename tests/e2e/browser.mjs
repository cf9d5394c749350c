// Headless Chromium over its DevTools protocol, through two pipes: nothing but Node.js is needed, and no port is open.
import { spawn } from 'node:child_process';

const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--no-default-browser-check',
	'--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions', '--hide-scrollbars',
	'--remote-debugging-pipe', 'about:blank'];

export class Browser {
	#process;
	#next = 1;
	#calls = new Map();
	#listeners = [];

	// profile: an empty folder that is the caller's to remove.
	static start(profile) {
		const browser = new Browser();
		const child = spawn(process.env.CHROMIUM ?? 'chromium', [`--user-data-dir=${profile}`, ...flags], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
		let rest = '';

		browser.#process = child;
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
			for (const listener of this.#listeners) listener(method, params, sessionId);
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

	on(listener) { this.#listeners.push(listener); }

	async open() {
		const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
		const page = new Page(this, targetId, sessionId);

		for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.call(`${domain}.enable`);
		return page;
	}

	async stop() {
		const ended = new Promise(resolve => this.#process.on('exit', resolve));

		await this.call('Browser.close').catch(() => {});
		await ended;
	}
}

export class Page {
	faults = []; // what the console shows as errors, violations of the Content Security Policy included
	requests = []; // addresses

	constructor(browser, target, session) {
		Object.assign(this, { browser, target, session });
		browser.on((method, params, sessionId) => {
			if (sessionId !== session) return;
			if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
			if (method === 'Runtime.exceptionThrown') this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
			if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) this.faults.push(params.args.map(argument => argument.value).join(' '));
			if (method === 'Log.entryAdded' && params.entry.level !== 'verbose') this.faults.push(`${params.entry.text} ${params.entry.url ?? ''}`);
		});
	}

	call(method, params) { return this.browser.call(method, params, this.session); }

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
		const loaded = new Promise(resolve => this.browser.on((method, _, sessionId) => {
			if (sessionId === this.session && method === 'Page.loadEventFired') resolve();
		}));
		const { errorText } = await this.call('Page.navigate', { url });

		if (errorText) throw new Error(`${url}: ${errorText}`);
		await loaded;
	}

	async looks({ width = 1000, height = 900, scheme = 'light' }) {
		await this.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
		await this.call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
	}

	// The whole page as PNG.
	async picture() {
		const { cssContentSize: { width, height } } = await this.call('Page.getLayoutMetrics');
		const { data } = await this.call('Page.captureScreenshot', { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });

		return Buffer.from(data, 'base64');
	}

	async press(key, code = key) {
		const keys = { Tab: 9, Enter: 13 };
		for (const type of ['keyDown', 'keyUp']) await this.call('Input.dispatchKeyEvent', { type, key, code, windowsVirtualKeyCode: keys[key] });
	}

	close() { return this.browser.call('Target.closeTarget', { targetId: this.target }); }
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
	const behind = element => {
		for (let at = element; at; at = at.parentElement) {
			const colour = getComputedStyle(at).backgroundColor;
			if ((numbers(colour)[3] ?? 1) === 1) return colour;
		}
		return 'rgb(255, 255, 255)';
	};

	for (const element of document.querySelectorAll('body *')) {
		const text = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
		const box = element.getBoundingClientRect(), style = getComputedStyle(element);
		if (!text || box.width === 0 || box.bottom <= 0 || style.visibility === 'hidden') continue;
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
