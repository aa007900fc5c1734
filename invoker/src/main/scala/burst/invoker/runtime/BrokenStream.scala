package burst.invoker.runtime

/** A runtime sent something wrong, or its stream broke: the pack behind it is lost. */
final class BrokenStream(val problem: StreamProblem)
    extends RuntimeException(problem.sentence, null, false, false)

/** What is wrong with a runtime's answer. */
enum StreamProblem:
  case NotHttp
  case NotFinal
  case NotAnEvent
  case EventTooLong(limit: Int)

  def sentence: String = this match
    case NotHttp => "the runtime's answer is not HTTP"
    case NotFinal => "the runtime's answer is none"
    case NotAnEvent => "the runtime sent what is not an event"
    case EventTooLong(limit) => s"an event has more than $limit bytes"
