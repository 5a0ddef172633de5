// By itself fast-check makes texts and lists of ten at the most, whatever `maxLength` says: long messages would never be
// tried. Where a test names a length, that length is meant.
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), defaultSizeToMaxWhenMaxSpecified: true });
