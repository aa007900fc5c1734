package burst.node

import scala.concurrent.duration.FiniteDuration

/** Why the runtime failed as a command. */
enum RuntimeProblem:
  case NotRun(why: String)
  case Late(within: FiniteDuration)

  /** With its last line of output, if any. `who` begins the sentence. */
  case Ended(code: Int, output: String, who: String = "it")
  case OtherForm

  /** It reports itself what is wrong with its input. */
  case Refused(output: String)

  /** Such as `it cannot be run`. */
  def sentence: String = this match
    case NotRun(why) => s"it cannot be run: $why"
    case Late(within) => s"it did not end within $within"
    case Ended(code, output, who) => s"$who ended with code $code $output".trim
    case OtherForm => "it answers in another form"
    case Refused(output) => output
