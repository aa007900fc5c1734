package burst.controller.gateway

import burst.controller.store.{ApiStore, ApisBeside, StoredApi}
import io.circe.JsonObject

/** Creates, lists and removes APIs. Calls block. */
final class GatewayApis(store: ApiStore):
  import GatewayApis.*

  /** Adds an operation to an API, which may be new, or replaces an API by a whole document. `site` is the
    * beginning of URLs.
    */
  def create(namespace: String, request: ApiRequest, site: String): Either[GatewayProblem, ApiDocument] =
    request match
      case ApiRequest.Whole(document) => edit(namespace, document.basePath)(_ => Right(document))
      case ApiRequest.Operation(api, title, path, template, verb, backend) =>
        edit(namespace, api): there =>
          there
            .fold(if api.startsWith("/") then ApiDocument.empty(api, title)
            else Left(GatewayProblem.NoSuchApi(api)))(Right(_))
            .map(_.adding(path, template, verb, backend, site))

  def list(
      namespace: String,
      api: Option[String],
      template: Option[String],
      verb: Option[String],
      limit: Int,
      skip: Int
  ): Vector[(ApiDocument, JsonObject)] =
    store.list(Tenant.of(namespace), api.filterNot(isImpossible), limit, skip).map: found =>
      val document = read(found)
      (document, document.only(template, verb))

  /** Deletes an API, a path of it, or one of its operations; an API without paths is removed. */
  def delete(
      namespace: String,
      api: String,
      template: Option[String],
      verb: Option[String]
  ): Either[GatewayProblem, Unit] =
    if isImpossible(api) then Left(GatewayProblem.NoSuchApi(api))
    else
      store
        .edit(namespace, Tenant.of(namespace), api): (there, _) =>
          for
            document <- there.map(read).toRight(GatewayProblem.NoSuchApi(api))
            left <- template match
              case None if verb.isDefined => Left(GatewayProblem.PathMissing)
              case None => Right(None)
              case Some(path) => document.removing(path, verb).map(rest => Option.unless(rest.isEmpty)(rest))
          yield left.map(stored(namespace, _))
        .map(_ => ())

  private def edit(namespace: String, api: String)(
      next: Option[ApiDocument] => Either[GatewayProblem, ApiDocument]
  ): Either[GatewayProblem, ApiDocument] =
    if isImpossible(api) then Left(GatewayProblem.BadBasePath(api))
    else
      store
        .edit(namespace, Tenant.of(namespace), api): (there, beside) =>
          for
            document <- next(there.map(read))
            bounded <- ApiDocument.bounded(document)
            _ <- checkQuota(bounded, beside)
          yield Some(stored(namespace, bounded))
        .flatMap(_.map(read).toRight(GatewayProblem.NoSuchApi(api)))

object GatewayApis:
  /** The most APIs of a namespace, and the most characters of their documents together. */
  val MostApis = 100
  val MostCharacters: Long = 4L << 20

  private def checkQuota(document: ApiDocument, beside: ApisBeside): Either[GatewayProblem, Unit] =
    if beside.count >= MostApis then Left(GatewayProblem.TooMany(MostApis))
    else if beside.characters + document.text.length > MostCharacters then
      Left(GatewayProblem.TooLargeTogether(MostCharacters))
    else Right(())

  /** Whether nothing can have this name; a database may not even accept it. */
  private def isImpossible(api: String): Boolean = api.exists(_.isControl) || api.lengthIs > ApiPath.MaxLength

  private[gateway] def read(api: StoredApi): ApiDocument =
    ApiDocument.stored(api.document, api.basePath, api.title)

  private def stored(namespace: String, document: ApiDocument): StoredApi =
    StoredApi(namespace, document.basePath, document.title, document.json)
