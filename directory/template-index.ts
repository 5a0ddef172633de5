// The approved templates of one account, by id and by category, updated as entries come and go. Bounded by the number
// of templates an account may have.
import { type Category, categories } from '../model/message.ts';
import type { AccountTemplates, TemplateEntry } from './contract.ts';

export class TemplateIndex implements AccountTemplates {
  readonly #byId = new Map<string, TemplateEntry>();
  /** Made when a category is first asked for after a change: thousands of accounts have no templates at all. */
  #byCategory: ReadonlyMap<Category, readonly TemplateEntry[]> | null = null;

  get size(): number {
    return this.#byId.size;
  }

  put(entry: TemplateEntry): void {
    this.#byId.set(entry.templateId, entry);
    this.#byCategory = null;
  }

  remove(templateId: string): void {
    this.#byId.delete(templateId);
    this.#byCategory = null;
  }

  find(templateId: string): TemplateEntry | undefined {
    return this.#byId.get(templateId);
  }

  ofCategory(category: Category): Iterable<TemplateEntry> {
    this.#byCategory ??= new Map(
      categories.map((each) => [each, [...this.#byId.values()].filter((entry) => entry.category === each)]),
    );
    return this.#byCategory.get(category) ?? [];
  }
}
