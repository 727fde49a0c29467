"""Methods that Telegram has and this sandbox has not, so that nobody takes them for misspelt ones."""

from pressroom.sandbox.telegram.refusal import Refusal
from pressroom.sandbox.telegram.request import Method, Request

#: Of Bot API 10.2.
NAMES = (
    "addStickerToSet", "answerChatJoinRequestQuery", "answerGuestQuery", "answerInlineQuery",
    "answerPreCheckoutQuery", "answerShippingQuery", "answerWebAppQuery", "approveChatJoinRequest",
    "approveSuggestedPost", "banChatSenderChat", "convertGiftToStars", "createChatInviteLink",
    "createChatSubscriptionInviteLink", "createInvoiceLink", "createNewStickerSet", "declineChatJoinRequest",
    "declineSuggestedPost", "deleteAllMessageReactions", "deleteBusinessMessages", "deleteChatPhoto",
    "deleteChatStickerSet", "deleteEphemeralMessage", "deleteMessageReaction", "deleteStickerFromSet",
    "deleteStickerSet", "deleteStory", "editChatInviteLink", "editChatSubscriptionInviteLink",
    "editEphemeralMessageCaption", "editEphemeralMessageMedia", "editEphemeralMessageReplyMarkup",
    "editEphemeralMessageText", "editMessageChecklist", "editMessageLiveLocation", "editStory",
    "editUserStarSubscription", "exportChatInviteLink", "getAvailableGifts", "getBusinessAccountGifts",
    "getBusinessAccountStarBalance", "getBusinessConnection", "getChatGifts", "getCustomEmojiStickers",
    "getForumTopicIconStickers", "getGameHighScores", "getManagedBotAccessSettings", "getManagedBotToken",
    "getMyStarBalance", "getStarTransactions", "getStickerSet", "getUserChatBoosts", "getUserGifts",
    "getUserPersonalChatMessages", "getUserProfileAudios", "giftPremiumSubscription",
    "postStory", "readBusinessMessage", "refundStarPayment", "removeBusinessAccountProfilePhoto",
    "removeChatVerification", "removeMyProfilePhoto", "removeUserVerification", "replaceManagedBotToken",
    "replaceStickerInSet", "repostStory", "revokeChatInviteLink", "savePreparedInlineMessage",
    "savePreparedKeyboardButton", "sendChatJoinRequestWebApp", "sendChecklist", "sendGame", "sendGift",
    "sendInvoice", "sendLivePhoto", "sendMessageDraft", "sendPaidMedia", "sendPoll", "sendRichMessage",
    "sendRichMessageDraft", "setBusinessAccountBio", "setBusinessAccountGiftSettings",
    "setBusinessAccountName", "setBusinessAccountProfilePhoto", "setBusinessAccountUsername",
    "setChatMemberTag", "setChatPhoto", "setChatStickerSet", "setCustomEmojiStickerSetThumbnail",
    "setGameScore", "setManagedBotAccessSettings", "setMyProfilePhoto", "setPassportDataErrors",
    "setStickerEmojiList", "setStickerKeywords", "setStickerMaskPosition", "setStickerPositionInSet",
    "setStickerSetThumbnail", "setStickerSetTitle", "setUserEmojiStatus", "stopMessageLiveLocation",
    "stopPoll", "transferBusinessAccountStars", "transferGift", "unbanChatSenderChat", "upgradeGift",
    "uploadStickerFile", "verifyChat", "verifyUser",
)  # fmt: skip


def _refuse(request: Request) -> None:
    raise Refusal(501, f"Not Implemented: the sandbox does not have {request.method} yet")


METHODS: dict[str, Method] = dict.fromkeys(NAMES, _refuse)
