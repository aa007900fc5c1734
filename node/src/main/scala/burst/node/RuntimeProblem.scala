package burst.node

import scala.concurrent.duration.FiniteDuration

/** Why the runtime failed as a command. */
enum RuntimeProblem:
  case NotRun(why: String)
  case Late(within: FiniteDuration)

  /** With its last line of output, if any. `who` begins the sentence. */
  case Ended(code: Int, said: String, who: String = "it")
  case OtherForm

  /** It reports itself what is wrong with its input. */
  case Refused(said: String)

  /** Such as `it cannot be run`. */
  def sentence: String = this match
    case NotRun(why) => s"it cannot be run: $why"
    case Late(within) => s"it did not end within $within"
    case Ended(code, said, who) => s"$who ended with code $code $said".trim
    case OtherForm => "it answers in another form"
    case Refused(said) => said
