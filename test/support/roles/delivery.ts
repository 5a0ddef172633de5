// Replaces the real delivery process in tests of the supervisor.
import './plain.ts';
