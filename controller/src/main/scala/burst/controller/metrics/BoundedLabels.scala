package burst.controller.metrics

import java.util.concurrent.ConcurrentHashMap

/** A record for each value of a label, for the first `limit` values; all others share the record of `other`.
  * So clients that can make up values cannot create time series.
  */
private[metrics] final class BoundedLabels[A](limit: Int, make: String => A):
  private val known = ConcurrentHashMap[String, A]()
  private lazy val rest = make(BoundedLabels.Other)

  /** Takes no lock, except for a new value while there is room. */
  def apply(value: String): A =
    Option(known.get(value)).getOrElse:
      if value == BoundedLabels.Other || known.size >= limit then rest else learn(value)

  private def learn(value: String): A = synchronized:
    if known.size >= limit && !known.containsKey(value) then rest
    else known.computeIfAbsent(value, make(_))

private[metrics] object BoundedLabels:
  val Other = "other"
