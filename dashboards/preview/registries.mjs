// What Grafana registers when it starts. Outside Grafana these registries are empty, and then units, thresholds, overrides and every
// `custom` property are ignored without a word.
import * as D from '@grafana/data';

const property = (id, process, isCustom = false) => ({
	id: isCustom ? `custom.${id}` : id, path: id, name: id, isCustom, process, shouldApply: () => true, settings: {}, editor: () => null, override: () => null,
});
const keep = D.identityOverrideProcessor;
const standard = Object.entries({
	unit: D.unitOverrideProcessor, min: D.numberOverrideProcessor, max: D.numberOverrideProcessor, decimals: D.numberOverrideProcessor,
	displayName: D.displayNameOverrideProcessor, thresholds: D.thresholdsOverrideProcessor, mappings: D.valueMappingsOverrideProcessor,
	links: D.dataLinksOverrideProcessor, noValue: D.stringOverrideProcessor, color: keep, fieldMinMax: keep, filterable: keep, description: keep,
}).map(([id, process]) => property(id, process));

export function registerStandard() {
	const transformers = new Map(Object.values(D.standardTransformers).map(one => [one.id, one])); // joinByField is listed twice

	D.standardFieldConfigEditorRegistry.setInit(() => standard);
	D.standardTransformersRegistry.setInit(() => [...transformers.values()].map(one => ({ id: one.id, name: one.name, transformation: one })));
}

// The properties that a panel may set: the standard ones and the custom ones that it names.
export function registryOf({ defaults, overrides }) {
	const registry = new D.FieldConfigOptionsRegistry(), custom = new Set(Object.keys(defaults.custom ?? {}));

	for (const { properties } of overrides) {
		for (const { id } of properties) if (id.startsWith('custom.')) custom.add(id.slice('custom.'.length));
	}
	for (const item of [...standard, ...[...custom].map(id => property(id, keep, true))]) registry.register(item);
	return registry;
}
