package burst.controller.gateway

import io.circe.Json

/** Where a request to an API leads. */
enum ApiTarget:
  /** `values` are those of the path's parameters. */
  case Found(backend: Backend, values: Vector[(String, String)])

  /** The path answers to these verbs alone. */
  case OtherVerbs(verbs: Vector[String])
  case Nowhere

/** The operations of an API, to be looked for by path and verb. */
final class ApiOperations private (paths: Vector[(ApiPath, Map[String, Backend])]):
  /** Of several paths that fit, that with the fewest parameters. */
  def find(path: Vector[String], verb: String): ApiTarget =
    paths.iterator.flatMap((template, verbs) => template.values(path).map((_, verbs))).nextOption match
      case None => ApiTarget.Nowhere
      case Some((values, verbs)) =>
        verbs.get(verb).fold(ApiTarget.OtherVerbs(verbs.keys.toVector.sorted))(ApiTarget.Found(_, values))

object ApiOperations:
  val Empty: ApiOperations = ApiOperations(Vector.empty)

  /** Of a document that was checked when it came, from its owner's namespace. */
  def of(document: ApiDocument, namespace: String): ApiOperations =
    val all =
      for
        (template, item) <- document.paths.toVector
        path <- ApiPath.parse(template)
      yield (path, backends(item, namespace))
    ApiOperations(all.sortBy((path, _) => path.parameters.size))

  private def backends(item: Json, namespace: String): Map[String, Backend] =
    (for
      fields <- item.asObject.toVector
      (verb, operation) <- fields.toVector if ApiDocument.Verbs(verb)
      backend <- operation.asObject.flatMap(_(Backend.Field)).flatMap(Backend.read(_, namespace))
    yield verb -> backend).toMap
