"""Vocabulary of tags for every task's ``metadata["tags"]``."""

from __future__ import annotations

#: Tag to its meaning for a task.
TAGS: dict[str, str] = {
    "aerial respiratory behaviour": "about breathing at the surface",
    "associative learning": "an association is learned from outcomes",
    "auditory": "the stimulus is a sound",
    "center-surround": "the size of the stimulus changes how it is seen",
    "conditional": "an arbitrary mapping from stimulus to action",
    "confidence": "the agent can decline to decide, or wager",
    "context dependent": "a cue or hidden state changes which answer is right",
    "continuous action space": "actions are real numbers",
    "decision": "ends with a decision",
    "delayed response": "a delay separates stimulus and response",
    "go-no-go": "respond or withhold",
    "hypoxia": "about lack of oxygen",
    "learning": "what is right has to be learned within a session",
    "Lymnaea Stagnalis": "about the great pond snail",
    "molluscan model": "about a mollusc",
    "motion": "the stimulus moves",
    "motor": "a movement has to be controlled",
    "multidimensional action space": "an action has several components",
    "n-alternative": "more than two answers are possible, or as many as requested",
    "operant conditioning": "behaviour changes by its consequences",
    "perceptual": "something has to be perceived",
    "plaid": "the stimulus is a pattern of gratings",
    "reaction time": "the agent decides when to answer",
    "snail": "about a snail",
    "steps action space": "actions are directions on a ring, or steps along one",
    "supervised": "every step has a right action, so that it can be trained with supervision",
    "system": "about a whole system",
    "timing": "intervals have to be measured or produced",
    "two-alternative": "two answers are possible",
    "value-based": "options differ in what they are worth",
    "visual working memory": "visual items are remembered",
    "working memory": "something has to be remembered within a trial",
}
