package burst.controller.gateway

import io.circe.Json

/** The target of a request to an API. */
enum ApiTarget:
  /** An operation; `values` are the values of the path's parameters. */
  case Found(backend: Backend, values: Vector[(String, String)])

  /** The path has operations for these verbs only. */
  case OtherVerbs(verbs: Vector[String])
  case Nowhere

/** The operations of an API, which are looked up by path and verb. */
final class ApiOperations private (paths: Vector[(ApiPath, Map[String, Backend])]):
  /** Finds an operation; of several matching paths, the one with the fewest parameters. */
  def find(path: Vector[String], verb: String): ApiTarget =
    paths.iterator.flatMap((template, verbs) => template.values(path).map((_, verbs))).nextOption match
      case None => ApiTarget.Nowhere
      case Some((values, verbs)) =>
        verbs.get(verb).fold(ApiTarget.OtherVerbs(verbs.keys.toVector.sorted))(ApiTarget.Found(_, values))

object ApiOperations:
  val Empty: ApiOperations = ApiOperations(Vector.empty)

  /** Returns the operations of a document that was checked when it was stored, from its owner's namespace. */
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
