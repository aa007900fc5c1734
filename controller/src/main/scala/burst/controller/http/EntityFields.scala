package burst.controller.http

import burst.protocol.JsonText

/** The fields of OpenWhisk's entities that may be long, each with its limit. */
object EntityFields:
  /** Bytes of the parameters, and how many values they may hold: each is some objects once they are read. */
  val MostParameters: Long = 1024 * 1024
  val MostValues: Int = 100_000

  /** Bytes of the annotations, which lists show of all their entities. */
  val MostAnnotations: Long = 64 * 1024

  private val limits = Map("parameters" -> MostParameters, "annotations" -> MostAnnotations)

  def keySet: Set[String] = limits.keySet

  /** The first of them that is too large. */
  def problem(fields: Vector[(String, JsonText)]): Option[ApiError] =
    fields.flatMap(problem).headOption.map(ApiError.OfEntity(_))

  private def problem(field: (String, JsonText)): Option[EntityProblem] =
    val (name, text) = field
    if text.length > limits(name) then Some(EntityProblem.FieldTooLarge(name, limits(name)))
    else
      // Depth and numbers were held against their limits as the whole body was.
      JsonCheck.problem(
        text.bytes,
        JsonLimits(depth = MostDepth, values = MostValues, number = Int.MaxValue)
      ).map: _ =>
        EntityProblem.TooManyValues(name, MostValues)

  /** Where that has been held against its limit already. */
  private[http] val MostDepth = 10_000
