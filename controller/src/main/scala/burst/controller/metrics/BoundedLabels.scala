package burst.controller.metrics

import java.util.concurrent.ConcurrentHashMap

/** What is kept for each value of a label, of the first `limit` values that come; all others share what is
  * kept for `other`. So whoever can make up values cannot make time series.
  */
private[metrics] final class BoundedLabels[A](limit: Int, make: String => A):
  private val known = ConcurrentHashMap[String, A]()
  private lazy val rest = make(BoundedLabels.Other)

  /** Takes no lock, but for a value that is new while there is room. */
  def apply(value: String): A =
    Option(known.get(value)).getOrElse:
      if value == BoundedLabels.Other || known.size >= limit then rest else learn(value)

  private def learn(value: String): A = synchronized:
    if known.size >= limit && !known.containsKey(value) then rest
    else known.computeIfAbsent(value, make(_))

private[metrics] object BoundedLabels:
  val Other = "other"
