DROP TABLE skill_confusions, skill_breakdowns, skill_days, session_skills, improvement_signals, gradings, execution_facts, invocations, prompts, sessions, pushes, skills;
