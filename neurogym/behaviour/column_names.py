"""Names and words by which laboratories say what the columns of a table and their entries are."""

from __future__ import annotations

import re

#: Roles that a column can have, and names (lower case, letters and digits only) that suggest the role, best first.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "subject": ("subject", "subjectid", "subjectname", "subj", "subjid", "subjidx", "subjname", "sub", "subid",
                "subjectnumber", "subjectnum", "subjectnr", "subjectno", "subjnum", "subjnr", "subjno", "subnum",
                "subno", "observer", "observerid", "parcode", "user", "userid", "proband", "vp", "vpn",
                "animal", "animalid", "animalname", "rat", "ratid", "ratname", "mouse", "mouseid", "mousename",
                "monkey", "monkeyname", "bird", "fish", "participant", "participantid", "participantnumber",
                "uniqueparticipant", "prolificid", "prolificpid", "workerid", "ppt", "pid", "person", "player",
                "nickname", "subjectnickname", "id", "runid",
                "versuchsperson", "versuchspersonnr", "probandin", "teilnehmer", "teilnehmerin",
                "tier", "sujet", "participante", "sujeto", "soggetto", "participantprivateid"),
    "session": ("session", "sessionid", "sessionnumber", "sessionnum", "sessionnr", "sessionno", "sessionindex",
                "sessionidx", "sessionname", "sessnum", "sessid", "sess", "ses", "eid", "sessiondate", "sessdate",
                "sessionstarttime", "day", "daynumber", "daynum", "date", "visit", "episode", "run", "env",
                "element", "game",
                "sitzung", "séance", "seance", "sesión", "sesion", "tag", "jour"),
    "trial": ("trial", "trialnumber", "trialnum", "trialnr", "trialno", "trialid", "trialindex", "trialidx", "ntrial",
              "trialn", "trialsthisn", "trialcount",
              "durchgang", "versuch", "essai", "ensayo"),
    "choice2": ("choice2", "level2choice", "secondchoice", "secondstagechoice", "stage2choice", "choicestage2",
                "action2", "response2", "a2"),
    "state": ("state2", "state", "secondstate", "secondstagestate", "secondstepstate", "secondstep", "stage2state",
              "step2state", "finalstate"),
    "choice": ("choice", "choice1", "level1choice", "firstchoice", "stage1choice", "choicestage1", "response",
               "response1", "responseside", "responsekey", "choiceside", "chosenside", "animalresponse",
               "animalchoice", "ratchoice", "mousechoice", "subjectchoice", "chosen", "resp", "action", "action1",
               "keypressed", "keypress", "keyrespkeys", "respkeys", "key", "button", "buttonpressed", "side",
               "leftright", "trgchoice", "targetchoice", "targcho", "targchoice", "decision", "port", "arm", "deck",
               "a1", "choose", "chosenoption", "chosenarm", "chosentarget", "chosenport", "selected", "selection",
               "selectedoption", "gamble", "gambled", "accept", "accepted", "wentright", "pokedright", "pokedr",
               "choseright", "choserighttarget", "choiceright", "rightchoice", "rightward", "wentleft", "choseleft",
               "pokedleft", "pokedl", "wentr", "wentl", "choser", "chosel", "choicedirection", "chosendirection",
               "choicedir", "choiceangle", "responsedirection", "responsechoice",
               "lick", "licked", "report", "reported", "judgment", "judgement", "participantresponse",
               "participantchoice", "subjectresponse", "userresponse", "userchoice", "buttonpress", "respkey",
               "answergiven",
               "wahl", "antwort", "auswahl", "réponse", "reponse", "choix", "respuesta", "elección", "eleccion",
               "scelta", "risposta", "respcat"),
    "correct": ("correct", "iscorrect", "correctness", "performance", "hit", "accuracy", "acc", "corr", "keyrespcorr",
                "respcorr", "wascorrect", "feedbacktype", "success", "errordirectionjudgment",
                "richtig", "korrekt", "correcto", "correcta", "acierto", "exact", "juste", "giusto", "corretto"),
    "gain": ("gain", "gains", "win", "wins", "won", "winamount"),
    "loss": ("loss", "losses", "lose", "lost", "lossamount"),
    "reward": ("reward", "rewarded", "rewards", "isrewarded", "rewardamount", "payoff", "payout", "points", "pointswon",
               "pointsearned", "moneywon", "coinswon", "rewardearned", "outcome", "win",
               "money", "gain", "rewardvolume", "r", "feedback",
               "belohnung", "punkte", "gewinn", "récompense", "recompense", "recompensa", "puntos"),
    "ground_truth": ("groundtruth", "correctside", "correctchoice", "correctresponse", "correctanswer", "correctresp",
                     "corrans", "correctans", "corrresp", "correctkey", "corrkey", "targcor", "correcttarget",
                     "correctoption", "target", "rewardedside", "answer", "truth", "stimulusside", "stimside",
                     "correctport", "stimulus", "stim", "category", "stimuluscategory", "side", "direction",
                     "motiondirection", "correctinterval", "correctstim",
                     "richtigeantwort", "korrekteantwort", "bonneréponse", "bonnereponse", "réponsecorrecte",
                     "respuestacorrecta"),
    "rt": ("rt", "rtdec", "reactiontime", "responsetime", "rts", "rtms", "rtus", "rtsec", "reactiontimeus",
           "responsetimeus",  "reactiontimems", "responsetimems",
           "reactiontimes", "keyresprt", "resprt", "latency", "decisiontime", "responselatency", "rxtime", "rxntime",
           "decisionlatency", "choicelatency", "choicert", "rt1", "rtdecconf",
           "reaktionszeit", "rz", "tempsderéaction", "tempsdereaction", "tiempodereacción", "tiempodereaccion",
           "reaktionszeitms"),
    "confidence": ("confidence", "conf", "confidencerating", "confrating", "confidencejudgment",
                   "confidencejudgement", "wager",
                   "sicherheit", "konfidenz", "confiance", "confianza"),
}  # fmt: skip
#: Roles besides these that can be named: a cue before the choice, and whether a second stage was the common one.
MORE = {"cue": ("cue", "cueid"), "common": ("common", "iscommon", "transition")}
ROLES = (*COLUMN_NAMES, *MORE, "stimuli")
#: Ways in which names of PsychoPy and E-Prime end, after a dot.
ENDINGS = {"choice": ("keys", "resp"), "rt": ("rt",), "correct": ("corr", "acc"), "ground_truth": ("cresp", "corrans")}

#: Names of components after which OpenSesame names the columns of their answers.
COMPONENT_NAMES = {
    "choice": re.compile(r"response_(?!time)\w*(keyboard|response|mouse|button|key)\w*$"),
    "rt": re.compile(r"response_time_\w+$"),
    "correct": re.compile(r"correct_\w*(keyboard|response|mouse|button|key)\w*$"),
}
#: Names that a choice has, and a correct choice or the side of a stimulus just as well.
SIDES = ("side", "leftright", "answer", "direction", "target")

STIMULUS = re.compile(
    r"^(kontrast|kohärenz|contraste|cohérence|coherencia|s|x|stim|stimulus|stimuli|coh|coherence|contrast|evidence|strength|intensity|freq|frequency|loudness|tone|sound|"
    r"click|clicks|duration|angle|orientation|ori|tilt|motion|level|amplitude|difference|delta|diff|signed\w*|signal|"
    r"cue|offer|left|right|morph|ratio|dotcoh|f)\d*([ab]|left|right|l|r|db|ms|hz|strength|level|contrast|coherence|evidence|diff|"
    r"difference|intensity|freq|frequency|value|clicks)?\d*$"
)
#: Parts of names of numeric columns that hold no stimulus: times, generating probabilities, counters, judgements.
NOT_STIMULI = re.compile(
    r"(time|onset|offset|started|stopped|prob|^p\d|^p_?(left|right|[a-z])$|date|index|^id|id$|number|block|count|weight|^age|phase|^q\d|^mu\d|"
    r"env|this\w*n$|fix|gaze|dwell|saccade|pupil|(^|[_.])cond|group|gender|sex|"
    r"conf|rating|(^|[_.])rt([_.]|$)|version|frame|reward|outcome|gain|loss|choice|resp|volume|period|interval|order|row|session)"
)
#: Parts of names of columns of words that are no choices: kinds of rows, groups of subjects, conditions.
NOT_CHOICES = re.compile(
    r"(type|kind|event|phase|block|task|stage|screen|sex|gender|group|cond|hand|version|lang|browser|strain|genotype|"
    r"species|treatment|drug|session|date|day|status|stim|cue|context|environment|room|site|device|difficulty)"
)
#: Parts of names that sound like an answer, where no name is that of a choice.
LIKE_A_CHOICE = re.compile(
    r"(chose|choice|chosen|pick|select|resp|answer|went|key|press|poke|lick|saccade|wheel|^p[rl]$)"
)
#: Names of ground truth that may as well name a graded stimulus.
STIMULUS_OR_TRUTH = ("stimulus", "stim", "category", "target", "stimuluscategory", "side", "direction",
                     "motiondirection")  # fmt: skip
#: Names of pairs that are stimuli although neither is alone, and of screens in tables of jsPsych.
VALUE = re.compile(r"^(value|val|v|offer|amount|magnitude|mag|ev|evidence|payoff)$")
SCREENS = {"trialtype", "trialindex", "timeelapsed", "internalnodeid"}
YES = {"ja", "oui", "sí", "si", "sim", "sì", "richtig", "korrekt", "juste", "vrai", "correcto", "correcta", "verdadero",
       "wahr", "vero", "exact", "giusto", "1", "true", "t", "yes", "y", "correct", "right", "hit", "rewarded",
       "reward", "win", "success", "pass", "water",
       "juice", "food", "pellet"}  # fmt: skip
NO = {"nein", "non", "não", "nao", "falsch", "inkorrekt", "faux", "incorrecto", "incorrecta", "falso", "unwahr",
      "sbagliato", "fehler", "erreur", "0", "-1", "false", "f", "no", "n", "error", "incorrect", "wrong",
      "unrewarded", "no reward", "noreward", "loss",
      "failure", "fail", "miss", "false alarm", "noise", "white noise", "airpuff", "punishment"}  # fmt: skip
MISSED = ("noresp", "keineantwort", "verpasst", "pasderéponse", "sinrespuesta", "miss", "missed", "omission",
          "omitted", "noresponse", "nochoice", "noanswer", "timeout", "abort",
          "aborted", "invalid", "toolate", "tooslow", "late", "ignore", "ignored", "skip", "skipped")  # fmt: skip
#: Names of flags of trials without an answer, besides the words above.
MISSED_FLAGS = (*MISSED, "istimeout", "timedout", "ismissed", "ismiss", "violation", "noresp", "didnotrespond")
#: Outcomes of signal detection: beside these, a miss is an error and not a trial without an answer.
DETECTION = {"hit": True, "cr": True, "correctrejection": True, "correctreject": True, "miss": False, "fa": False,
             "falsealarm": False}  # fmt: skip
#: Choices for or against an offer, whose gains and losses are what is offered.
OFFER_CHOICES = ("gamble", "gambled", "accept", "accepted")
CLOCKS = {"time", "timestamp", "timestamps", "times"}
SAFE = ("cert", "certain", "sure", "safe")
#: Pairs of choices of which the first comes first as an option, whatever the alphabet says.
ORDERED = (
    ("left", "right"),
    ("l", "r"),
    ("arrowleft", "arrowright"),
    ("leftarrow", "rightarrow"),
    ("links", "rechts"),
    ("gauche", "droite"),
    ("izquierda", "derecha"),
    ("sinistra", "destra"),
    ("esquerda", "direita"),
    ("no", "yes"),
    ("false", "true"),
    ("down", "up"),
    ("arrowdown", "arrowup"),
    ("absent", "present"),
    ("old", "new"),
    ("first", "second"),
    ("a", "b"),
    ("low", "high"),
    ("short", "long"),
    ("ccw", "cw"),
    ("q", "p"),  # keys from left to right
    ("z", "m"),
    ("s", "k"),
    ("s", "l"),
)
