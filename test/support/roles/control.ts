// Replaces the real control in tests of the supervisor.
import './plain.ts';
